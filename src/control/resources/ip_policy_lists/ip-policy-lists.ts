import type { TProperties } from 'typebox';
import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import { HOP_BY_HOP } from '../../../kit/http/header-values.ts';
import { sentHeaderProblems, sentUrlProblems } from '../../../kit/http/sent-request-fields.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { isCountryCode } from '../../../kit/net/country-code.ts';
import { isLoopbackHost } from '../../../kit/net/listen-address.ts';
import { idString, mapOf, reference, secret } from '../../../kit/schema/annotations.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';
import type { ListState } from '../../../proxy/lists/followed-list.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { Operation } from '../operation.ts';
import type { DocumentsPort } from '../ports.ts';
import { type Created, defineResource, describedFields, type LiveFields } from '../resource.ts';

const orNull = (schema: Type.TSchema, description: string): Type.TSchema =>
  Type.Union([schema, Type.Null()], { description });

/** State of the addresses in use, on the node that answers. */
export const listStateFields = {
  status: Type.Enum(['current', 'stale', 'missing'], {
    description:
      'State of the list on the node that answers: "current"; "stale", when the last attempt to read it failed and the former entries stay in use; "missing", when it was never loaded.',
  }),
  entries: Type.Integer({
    description: 'How many addresses and ranges are in use; for countries, those of all countries.',
  }),
  skipped_lines: Type.Integer({ description: 'Lines of the list that are neither entries nor comments.' }),
  loaded_at: orNull(
    Type.String({ format: 'date-time' }),
    'When the entries in use were read; null if the list was never loaded.',
  ),
  checked_at: orNull(
    Type.String({ format: 'date-time' }),
    'When the source was last read without an error, also if it was unchanged; null if not since the start.',
  ),
  error: orNull(Type.String(), 'Why the last attempt failed, without the content of the list; null if it succeeded.'),
} satisfies TProperties;

const liveList: LiveFields<ListPorts> = {
  schema: listStateFields,
  read: (records, { addressLists }) =>
    Promise.resolve(new Map(records.map(({ id }) => [id, shownState(addressLists.state(id))]))),
};

export function shownState(state: ListState): JsonObject {
  const time = (ms: number | null): string | null => (ms === null ? null : rfc3339(ms));
  return {
    status: state.status,
    entries: state.entries,
    skipped_lines: state.skippedLines,
    loaded_at: time(state.loadedAtMs),
    checked_at: time(state.checkedAtMs),
    error: state.error,
  };
}

/** Reads the source of a list now. */
const refreshList: Operation<ListPorts> = {
  resource: 'ip_policy_lists',
  verb: 'refresh',
  method: 'POST',
  path: '/ip_policy_lists/{id}/refresh',
  summary: 'Read the source of an IP policy list now',
  description:
    'Reads it on the node that answers. The response shows the state afterwards: an "error" says why the former entries stay in use.',
  body: {
    schema: Type.Object({
      accept_smaller: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Whether to use a list with less than half of the former entries. Default: false.',
        }),
      ),
    }),
    example: { accept_smaller: true },
  },
  success: { status: 200, schema: Type.Object(listStateFields), description: 'State of the list.' },
  errors: ['ERR_POSTERN_NOT_FOUND'],
  run: async (request, { documents, addressLists }) => {
    const { id } = documents.require('ip_policy_list', request.params['id'] as string);
    await addressLists.refresh(id, request.body['accept_smaller'] === true);
    return { body: shownState(addressLists.state(id)) };
  },
};

/** Set by the request itself, or usable for request smuggling. */
const RESERVED_HEADER = new RegExp(
  `^(host|content-.*|accept-encoding|if-.*|range|expect|proxy-.*|${HOP_BY_HOP.join('|')})$`,
  'i',
);

/** A request asks all lists of a policy, one after the other. */
const MAX_LISTS = 50;

const listConfig = Type.Object({
  ...describedFields,
  ip_policy_id: reference(
    { kinds: ['ip_policy'], readAs: 'ip_policy' },
    idString('Id of the IP policy that the list belongs to. It cannot be changed later.'),
  ),
  action: Type.Enum(['allow', 'deny'], {
    default: 'deny',
    description: 'Action for addresses on the list: "allow" or "deny". It cannot be changed later. Default: "deny".',
  }),
  url: Type.String({
    default: '',
    maxLength: 2048,
    description:
      'https URL of a plain list: on each line an address, a range in CIDR notation or FIRST-LAST; comments start with # or ;. At most 64 MiB and 2,000,000 entries. Redirects are not followed. Every node fetches it for itself.',
  }),
  file: Type.String({
    default: '',
    maxLength: 1024,
    description:
      'Path of such a list, relative to the setting lists_dir, on every node. It is read again when the file changes.',
  }),
  countries: Type.Array(Type.String(), {
    default: [],
    maxItems: 300,
    description:
      'Countries as ISO 3166-1 codes, such as ["DE", "FR"]. The countries of addresses come from the MMDB file in the setting country_database. An address without a country matches no list.',
  }),
  refresh_minutes: Type.Integer({
    default: 60,
    minimum: 1,
    maximum: 10_080,
    description: 'Minutes between two requests to url. After a failure, they are repeated sooner. Default: 60.',
  }),
  enforce: Type.Boolean({
    default: true,
    description:
      'Whether the list decides. false rehearses it: a deny list refuses nobody, and the log, the metrics and the events report which requests it would have refused; an allow list admits nobody. Default: true.',
  }),
  headers: secret(
    'masked',
    mapOf(Type.String(), {
      default: {},
      maxProperties: 20,
      description:
        'Headers of the requests to url, such as {"authorization": "Bearer …"} for a list behind a key. Their values are secret. They are sent to the origin of url alone.',
    }),
    { field: 'url' },
  ),
});

type ListConfig = Type.Static<typeof listConfig>;

/** Many addresses of an IP policy: from a file, a server, or by country. */
export const ipPolicyLists = defineResource({
  name: 'ip_policy_lists',
  kind: 'ip_policy_list',
  idPrefix: 'ipl',
  path: '/ip_policy_lists',
  listKey: 'ip_policy_lists',
  title: 'an IP policy list',
  description: `A list of addresses that a policy allows or denies: from a URL, from a file, or by country. A policy has at most ${MAX_LISTS}. While a list that is enforced was never loaded, the routes of its policy reject all traffic.`,
  eventNoun: 'ip_policy_list',
  parent: { kind: 'ip_policy', field: 'ip_policy_id' },
  config: listConfig,
  immutable: ['ip_policy_id', 'action'],
  live: liveList,
  actions: [refreshList],
  example: {
    ip_policy_id: 'ipp_2zXAMPLEpolicyOfTheDocsAAAA',
    action: 'deny',
    url: 'https://www.spamhaus.org/drop/drop.txt',
  },
  normalize: (config) => ({
    ...config,
    countries: [...new Set(config.countries.map((code) => code.toUpperCase()))].sort(),
  }),
  check: (config) => [...sourceProblems(config), ...urlProblems(config.url), ...fileProblems(config.file)],
  onCreate: (config, { reader }) => roomIn(config.ip_policy_id, reader),
});

function roomIn(policyId: string, reader: RecordReader): Created {
  const lists = reader.pageOfParent('ip_policy_list', policyId, { beforeId: null, limit: MAX_LISTS });
  if (lists.length < MAX_LISTS) return {};
  const problem = `names a policy that has ${MAX_LISTS} lists, which is as many as one can have: put several sources into one list, or use another policy`;
  return { problems: [bodyProblem('ip_policy_id', problem)] };
}

function sourceProblems({ url, file, countries, headers }: ListConfig): readonly FieldProblem[] {
  const named = [url !== '', file !== '', countries.length > 0].filter(Boolean).length;
  if (named !== 1)
    return [bodyProblem(named === 0 ? 'url' : 'file', 'must be the only source: send one of url, file and countries')];
  const unknown = countries.find((code) => !isCountryCode(code));
  if (unknown !== undefined) {
    const shown = JSON.stringify(unknown.slice(0, 8));
    return [bodyProblem('countries', `has ${shown}, which is not an ISO 3166-1 code such as "DE" or "GB"`)];
  }
  if (url === '' && Object.keys(headers).length > 0)
    return [bodyProblem('headers', 'are sent to url: remove them from a list without one')];
  return sentHeaderProblems(headers, RESERVED_HEADER, 'the request');
}

/** Nobody signs a list: a third party that changes it on the way would decide who gets in. */
function urlProblems(text: string): readonly FieldProblem[] {
  if (text === '') return [];
  const problems = sentUrlProblems(text, 'https://lists.example.com/blocked.txt');
  if (problems.length > 0) return problems;
  const { protocol, hostname } = new URL(text);
  const isAllowed = protocol === 'https:' || isLoopbackHost(hostname);
  return isAllowed ? [] : [bodyProblem('url', 'must be an https URL; http only to this machine')];
}

function fileProblems(file: string): readonly FieldProblem[] {
  if (file === '') return [];
  const isPlain = !/[\p{Cc}\\]/u.test(file) && !file.startsWith('/');
  const hasSteps = file.split('/').some((part) => part === '' || part === '.' || part === '..');
  if (isPlain && !hasSteps) return [];
  return [
    bodyProblem('file', 'must be a path below the setting lists_dir, such as "blocked.txt", without "." and ".."'),
  ];
}

/** What the server that answers knows about lists. */
export interface ListPorts {
  readonly documents: Pick<DocumentsPort, 'require'>;
  readonly addressLists: {
    state(id: string): ListState;
    /** Resolves when its source was read, or has failed. */
    refresh(id: string, acceptsSmaller: boolean): Promise<void>;
  };
}
