import assert from 'node:assert/strict';
import type { Static } from 'typebox';
import Type from 'typebox';
import { edgeRecord, routedRecordKinds, routeRecord, routeRecordKinds } from '../../../edges/record-kinds.ts';
import { rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { hostNameProblem, hostOf, lowerCaseHost, splitAddress } from '../../../kit/net/host-name.ts';
import { idString, reference } from '../../../kit/schema/annotations.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import { parseRfc3339 } from '../../../kit/text/time.ts';
import {
  GUEST_LINK_USE_KIND,
  guestLinkUrl,
  guestLinkUseId,
  guestSecrets,
} from '../../../modules/guest-link-records.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { StoredRecord } from '../../../store/store.ts';
import type { ReadingPorts } from '../ports.ts';
import { type CreatePorts, type Creation, defineResource, describedFields, timestamp } from '../resource.ts';
import { expiryProblem, timeProblem } from './link-expiry.ts';

type LinkHost = { readonly host: string; readonly port: string } | { readonly problem: string };

/** The host of a link, and the port of its URL. An empty `wanted` stands for the only host of the edge. */
function linkHost(edge: StoredRecord, wanted: string, reader: RecordReader): LinkHost {
  const hostports = edge.doc['hostports'] as readonly string[];
  const hosts = new Map(hostports.map((hostport) => [hostOf(hostport), String(splitAddress(hostport).port)]));
  const [only] = hosts;
  if (only === undefined) return { problem: `cannot be chosen: the edge ${edge.id} has no hosts yet` };
  if (wanted === '') {
    const isClear = hosts.size === 1 && !only[0].startsWith('*.');
    if (isClear) return { host: only[0], port: only[1] };
    return { problem: `is required, because the edge has ${listOf([...hosts.keys()])}: name one host` };
  }
  const exact = hosts.get(wanted);
  if (exact !== undefined && !wanted.startsWith('*.')) return { host: wanted, port: exact };
  const port = hosts.get(`*.${wanted.slice(wanted.indexOf('.') + 1)}`);
  if (port === undefined || wanted.startsWith('*.')) {
    return { problem: `"${wanted}" is not a host of the edge, which has ${listOf([...hosts.keys()])}` };
  }
  const other = edgeWith(wanted, reader);
  return other === null ? { host: wanted, port } : { problem: `"${wanted}" belongs to another edge, ${other}` };
}

/** A host that is listed takes precedence over a wildcard, also one of another edge. */
function edgeWith(host: string, reader: RecordReader): string | null {
  const everything = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };
  const edges = routedRecordKinds.flatMap((kind) => reader.page(kind, everything));
  const owner = edges.find(({ doc }) =>
    (doc['hostports'] as readonly string[]).some((hostport) => hostOf(hostport) === host),
  );
  return owner?.id ?? null;
}

const MAX_LISTED = 5;

function listOf(hosts: readonly string[]): string {
  const more = hosts.length > MAX_LISTED ? ` and ${hosts.length - MAX_LISTED} more` : '';
  return `${hosts.length === 1 ? 'the host' : 'the hosts'} ${hosts.slice(0, MAX_LISTED).join(', ')}${more}`;
}

const usedBySchema = Type.Array(
  Type.Object({
    session: Type.String({
      description: 'Id of the login session of that browser, starting with "as_".',
      examples: ['as_2zXAMPLEsessionOfTheDocsAAA'],
    }),
    at: timestamp('When the link was redeemed.'),
    ip_address: Type.String({ description: 'Client address of the guest.', examples: ['203.0.113.7'] }),
    user_agent: Type.String({ description: 'The User-Agent header of the browser.', examples: ['Mozilla/5.0'] }),
  }),
  { description: 'The browsers that redeemed the link, first one first.' },
);

function usedBy(linkId: string, reader: RecordReader): readonly JsonObject[] {
  const uses: JsonObject[] = [];
  for (;;) {
    const use = reader.get(GUEST_LINK_USE_KIND, guestLinkUseId(linkId, uses.length + 1));
    if (use === undefined) return uses;
    const { session = '', at = '', ip_address = '', user_agent = '' } = use.doc;
    uses.push({ session, at, ip_address, user_agent });
  }
}

const config = Type.Object({
  ...describedFields,
  edge_id: reference({ kinds: routedRecordKinds }, idString('Id of the HTTPS edge. It cannot be changed later.')),
  route_id: reference(
    { kinds: routeRecordKinds },
    idString('Id of the route of that edge that the guest may use. It cannot be changed later.'),
  ),
  label: Type.String({
    default: '',
    maxLength: 255,
    description: 'Name of the guest or the occasion, for your own use. The guest does not see it.',
  }),
  email: Type.String({
    default: '',
    maxLength: 254,
    pattern: '^[^\\s@\\x00-\\x1f\\x7f]+@[^\\s@\\x00-\\x1f\\x7f]+$',
    description:
      'E-mail address of the guest, for your own use. No access rule matches it, and it is not sent upstream.',
  }),
  expires_at: Type.String({
    format: 'date-time',
    minLength: 1,
    maxLength: 64,
    description: 'When the link and the sessions of its guests end, in RFC 3339 format. At most 90 days from now.',
  }),
  host: Type.String({
    default: '',
    maxLength: 253,
    description:
      'Host of the edge that the link opens. Required when the edge has several hosts or a wildcard. It cannot be changed later.',
  }),
  max_browsers: Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 1000,
    description:
      'How many browsers may redeem the link, 1 to 1000. Default: 1. A browser that redeemed it may open it again.',
  }),
});
type GuestLink = Static<typeof config>;

/** Lets guests without an account into a route, until a time. */
export const guestLinks = defineResource({
  isNeverRestored: true,
  derivedKinds: [GUEST_LINK_USE_KIND],
  name: 'guest_links',
  kind: 'guest_link',
  idPrefix: 'gl',
  path: '/guest_links',
  listKey: 'guest_links',
  title: 'a guest link',
  description:
    'A link that lets a guest without an account use a route whose access module allows guests. Its URL is shown only once, in the response to the create, and its secret is stored as a hash. Deleting the link ends the sessions of its guests; so does deleting the route or the edge.',
  eventNoun: 'guest_link',
  parent: { kind: 'https_edge_route', field: 'route_id' },
  config,
  readsReferences: true,
  immutable: ['edge_id', 'route_id', 'host'],
  live: {
    schema: { used_by: usedBySchema },
    read: (records, { documents }: ReadingPorts) =>
      Promise.resolve(new Map(records.map(({ id }) => [id, { used_by: usedBy(id, documents.reader) }]))),
  },
  shownOnce: {
    url: Type.String({
      description: 'The link for the guest. Only this response shows it.',
      examples: ['https://app.example.com/.postern/guest?link=postern_gl_EXAMPLEexampleEXAMPLEexample'],
    }),
  },
  example: {
    edge_id: 'edghts_2zXAMPLEedgeOfTheDocsAAAAAA',
    route_id: 'edghtsrt_2zXAMPLErouteOfTheDocsAAAAA',
    label: 'contractor',
    expires_at: '2026-11-20T18:00:00Z',
  },
  normalize: (link) => ({ ...link, host: lowerCaseHost(link.host), expires_at: inUtc(link.expires_at) }),
  check: (link) => [
    ...problemAt('expires_at', timeProblem(link.expires_at)),
    ...problemAt('host', link.host === '' ? null : hostNameProblem(link.host, 'refused')),
  ],
  narrowable: ['expires_at', 'max_browsers'],
  isRevocation: (link, previous) => link === null || isLess(link, previous),
  onCreate: create,
  onChange: (link, previous, _settings, nowMs) => changed(link, previous, nowMs),
  uniqueKeys: (_link, _owner, extra) => [
    { scope: 'guest_link_secret', key: String((extra['internal'] as { secret_hash: string }).secret_hash) },
  ],
});

function create(link: GuestLink, ports: CreatePorts): Creation | { readonly problems: readonly FieldProblem[] } {
  const place = placeOf(link, ports.reader);
  const late = problemAt('expires_at', expiryProblem(link.expires_at, ports.nowMs));
  if ('problem' in place) return { problems: [...late, place.problem] };
  if (late.length > 0) return { problems: late };
  const secret = guestSecrets.create(
    (prefix) => ports.newToken(prefix),
    (purpose, data) => ports.mac(purpose, data),
  );
  return {
    config: { host: place.host },
    internal: { secret_hash: hashToken(secret) },
    shownOnce: { url: guestLinkUrl(place, secret) },
  };
}

function changed(link: GuestLink, previous: GuestLink, nowMs: number): ReturnType<typeof create> {
  const problem = link.expires_at === previous.expires_at ? null : expiryProblem(link.expires_at, nowMs);
  return problem === null ? {} : { problems: problemAt('expires_at', problem) };
}

/** Whether it lets in fewer guests, or for a shorter time. */
function isLess(link: GuestLink, previous: GuestLink): boolean {
  const byMs = Date.parse(previous.expires_at) - Date.parse(link.expires_at);
  const byBrowsers = previous.max_browsers - link.max_browsers;
  return byMs >= 0 && byBrowsers >= 0 && byMs + byBrowsers > 0;
}

function placeOf(
  link: GuestLink,
  reader: RecordReader,
): { readonly host: string; readonly port: string } | { readonly problem: FieldProblem } {
  const edge = edgeRecord(reader, link.edge_id);
  const route = routeRecord(reader, link.route_id);
  assert(edge !== undefined && route !== undefined, 'the resource reads its references');
  if (route.parent !== edge.id) {
    const message = `names a route of another edge, ${route.parent}: send that edge_id, or a route of ${edge.id}`;
    return { problem: bodyProblem('route_id', message) };
  }
  const place = linkHost(edge, link.host, reader);
  return 'problem' in place ? { problem: bodyProblem('host', place.problem) } : place;
}

function inUtc(time: string): string {
  const ms = parseRfc3339(time);
  return ms === null ? time : rfc3339(ms);
}

function problemAt(field: keyof GuestLink, problem: string | null): readonly FieldProblem[] {
  return problem === null ? [] : [bodyProblem(field, problem)];
}
