import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { ExpiryChip } from '../certificates/certificates-page.tsx';

const EVERY_MS = 60_000;

interface Certificates {
  readonly managed: readonly Document[];
  readonly uploaded: readonly Document[];
  readonly isWhole: boolean;
}

let running: Promise<Certificates> | null = null;

/** All sites of a page ask at the same moment: one request for each list serves them, if that is the whole list. */
function loadAll(): Promise<Certificates> {
  running ??= load('', '').finally(() => {
    running = null;
  });
  return running;
}

async function load(ofManaged: string, ofUploaded: string): Promise<Certificates> {
  const [managed, uploaded] = await Promise.all([
    page('managed_certificates', ofManaged),
    page('tls_certificates', ofUploaded),
  ]);
  return { managed: managed.rows, uploaded: uploaded.rows, isWhole: managed.isWhole && uploaded.isWhole };
}

async function page(name: string, search: string): Promise<{ rows: readonly Document[]; isWhole: boolean }> {
  if (!isAllowed(`${name}:read`)) return { rows: [], isWhole: true };
  const body = await get<Record<string, unknown>>(`/${name}?limit=100${search}`);
  return { rows: (body[name] ?? []) as readonly Document[], isWhole: body['next_page_uri'] === null };
}

async function certificateFor(host: string): Promise<Document | null> {
  const parent = host.slice(host.indexOf('.') + 1);
  const all = await loadAll();
  const filter = encodeURIComponent(`obj.hostname in ${JSON.stringify([host, `*.${parent}`])}`);
  const found = all.isWhole ? all : await load(`&filter=${filter}`, `&q=${encodeURIComponent(parent)}`);
  const uploaded = found.uploaded.find((each) => namesOf(each).some((name) => covers(name, host)));
  return uploaded ?? found.managed.find((each) => covers(textAt(each, 'hostname'), host)) ?? null;
}

const NAMES = ['managed_certificates', 'tls_certificates'];

/** When the certificate of a site expires, or that it is one of the internal CA, which browsers do not trust. */
export function CertificateOf({ edge, isBrief = false }: { edge: Document; isBrief?: boolean }) {
  const host = ((edge['hostports'] as readonly string[] | undefined)?.[0] ?? '').replace(/:\d+$/, '');
  const { data: found, isLoading } = useLoaded(`certificate ${host}`, () => certificateFor(host), EVERY_MS);
  if (found === null && isLoading) return <span class="muted">…</span>;
  // Who may not see certificates cannot know that there is none.
  if (found === null && !NAMES.every((name) => isAllowed(`${name}:read`))) return <span class="muted">–</span>;
  if (found === null) return <InternalCertificate isBrief={isBrief} />;
  if (typeof found['not_after'] !== 'string') return <span class="muted">{textAt(found, 'status')}</span>;
  return <ExpiryChip at={found['not_after']} />;
}

function InternalCertificate({ isBrief }: { isBrief: boolean }) {
  if (isBrief) return <span title="It renews by itself, and browsers do not trust it.">internal CA</span>;
  return (
    <span>
      From the internal CA of this server: it renews by itself, and browsers do not trust it.{' '}
      <a href={href('/certificates')}>Trust it, or get a public one</a>
    </span>
  );
}

function namesOf(certificate: Document): readonly string[] {
  const names = certificate['subject_alternative_names'] as { readonly dns_names?: readonly string[] } | undefined;
  return names?.dns_names ?? [];
}

function covers(name: string, host: string): boolean {
  return name === host || (name.startsWith('*.') && host.slice(host.indexOf('.')) === name.slice(1));
}
