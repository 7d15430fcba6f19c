import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import { isId } from '../names/is-id.ts';
import type { WantedLogin } from './edge-login.ts';

/** What `postern edge` is to make. */
export interface WantedEdge {
  readonly host: string;
  /** Null: as it is, or 443 for a new edge. */
  readonly port: number | null;
  readonly path: string;
  readonly target: WantedTarget;
  readonly login: WantedLogin | null;
  readonly emailDomains: readonly string[];
  readonly groups: readonly string[];
}

export type WantedTarget =
  | { readonly kind: 'address'; readonly address: string; readonly hasTls: boolean }
  | { readonly kind: 'backend'; readonly id: string };

const HOST = /^(?<host>(?:\*\.)?[\w-]+(?:\.[\w-]+)*\.?)(?::(?<port>\d{1,5}))?(?<path>\/\S*)?$/;

/** The one argument: `app.example.com`, `app.example.com:7443`, `app.example.com/admin`. */
export function parseSite(positionals: readonly string[]): Pick<WantedEdge, 'host' | 'port' | 'path'> {
  const [text = '', ...others] = positionals;
  if (text === '' || others.length > 0) {
    throw usage('postern edge takes one host: postern edge app.example.com --to 127.0.0.1:3000');
  }
  const { host, port, path } = HOST.exec(text.replace(/^https:\/\//, ''))?.groups ?? {};
  if (host === undefined)
    throw usage('the host must have the form app.example.com, app.example.com:7443 or app.example.com/path');
  return {
    host: host.toLowerCase().replace(/\.$/, ''),
    port: port === undefined ? null : Number(port),
    path: path ?? '/',
  };
}

/** `127.0.0.1:3000`, `3000`, `http://web:8080`, `https://web`, or the id of a backend. */
export function parseTarget(text: string | undefined): WantedTarget {
  if (text === undefined) throw usage('--to is required: --to 127.0.0.1:3000');
  if (isId(text)) return { kind: 'backend', id: text };
  if (/^\d{1,5}$/.test(text)) return { kind: 'address', address: `127.0.0.1:${text}`, hasTls: false };
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?([^/\s]+)\/?$/.exec(text) ?? [];
  const hasPort = /:\d{1,5}$/.test(rest);
  if (rest === '' || (!hasPort && !text.includes('://'))) {
    throw usage('--to takes host:port, a port, http://host:port, https://host:port or the id of a backend');
  }
  const port = scheme === 'https' ? 443 : 80;
  return { kind: 'address', address: hasPort ? rest : `${rest}:${port}`, hasTls: scheme === 'https' };
}

export const EMAIL_DOMAIN: Flag = {
  name: 'allow-email-domain',
  kind: 'list',
  hint: 'DOMAIN,…',
  description: 'Let in only people with a verified address of this domain.',
};

export const GROUPS: Flag = {
  name: 'allow-groups',
  kind: 'list',
  hint: 'GROUP,…',
  description: 'Let in only members of one of these groups.',
};

export function groupsOf({ values }: ParsedFlags): readonly string[] {
  const given = (values.get(GROUPS.name) ?? []).flatMap((value) => value.split(','));
  const groups = given.map((each) => each.trim());
  if (groups.includes('')) throw usage('--allow-groups requires names of groups: --allow-groups ops,support');
  return [...new Set(groups)];
}

export function emailDomainsOf({ values }: ParsedFlags): readonly string[] {
  const given = (values.get(EMAIL_DOMAIN.name) ?? []).flatMap((value) => value.split(','));
  const domains = given.map((each) => each.trim().toLowerCase().replace(/^@/, ''));
  if (domains.some((domain) => !/^[\w-]+(\.[\w-]+)+$/.test(domain))) {
    throw usage('--allow-email-domain requires a domain: --allow-email-domain example.com');
  }
  return [...new Set(domains)];
}
