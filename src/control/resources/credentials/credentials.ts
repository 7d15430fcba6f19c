import type { TArray, TString } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { hostNameProblem } from '../../../kit/net/host-name.ts';
import { readOrNull } from '../../../kit/read-or-null.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import { labelsProblem } from '../../../kit/text/labels.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import { agentModules } from '../../../modules/agent-modules.ts';
import { modules } from '../../../modules/registry.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store, StoredRecord } from '../../../store/store.ts';
import { defineResource, describedFields, ownerId } from '../resource.ts';
import { CREDENTIAL_PREFIX } from './credential-token.ts';

const ANY_MODULE = 'configure:*';
const CONFIGURABLE = agentModules(modules).map(({ name }) => `configure:${name}`);
const CONFIGURE_EXAMPLE = CONFIGURABLE[0] ?? ANY_MODULE;

/** The problem with one rule of a credential's acl, or null. */
export function aclRuleProblem(rule: string): string | null {
  if (rule.startsWith('configure:')) return configureRuleProblem(rule);
  if (!rule.startsWith('bind:'))
    return `has the rule "${rule}": rules start with "bind:" or "configure:", as in "bind:app.example.com", "bind:env=prod" or "${CONFIGURE_EXAMPLE}"`;
  const subject = rule.slice('bind:'.length);
  const separator = subject.indexOf('=');
  if (separator !== -1) {
    const problem = labelsProblem({ [subject.slice(0, separator)]: subject.slice(separator + 1) });
    return problem === null ? null : `has the rule "${rule}", which ${problem}`;
  }
  if (subject === '*') return null;
  const problem = hostNameProblem(subject, 'allowed');
  return problem === null ? null : `has the rule "${rule}": ${problem}`;
}

function configureRuleProblem(rule: string): string | null {
  const known = [ANY_MODULE, ...CONFIGURABLE];
  return known.includes(rule)
    ? null
    : `has the rule "${rule}", which names no module that agents can configure: use ${known.map((each) => `"${each}"`).join(', ')}`;
}

/** Without a rule of a kind, everything of that kind is allowed. */
const KINDS = ['bind:', 'configure:'] as const;

/**
 * Whether agents may do less by this list than by the previous one, and nothing more. By text: a pattern counts as
 * itself.
 */
function isNarrowerAcl(acl: readonly string[], previous: readonly string[]): boolean {
  const isWithin = (kind: string): boolean => {
    const allowed = rulesOf(acl, kind);
    const before = rulesOf(previous, kind);
    return before.length === 0 || (allowed.length > 0 && allowed.every((rule) => before.includes(rule)));
  };
  return KINDS.every(isWithin) && new Set(acl).symmetricDifference(new Set(previous)).size > 0;
}

function rulesOf(acl: readonly string[], kind: string): readonly string[] {
  return acl.filter((rule) => rule.startsWith(kind));
}

export interface CredentialPorts {
  readonly store: Pick<Store, 'presence'>;
}

export function aclField(description: string): TArray<TString> {
  return Type.Array(Type.String({ maxLength: 520 }), { default: [], maxItems: 1000, description });
}

/** Authtokens of agents. */
export const credentials = defineResource({
  isNeverRestored: true,
  name: 'credentials',
  kind: 'credential',
  idPrefix: 'cr',
  path: '/credentials',
  listKey: 'credentials',
  title: 'a tunnel credential',
  description:
    'An agent token, with the rules for what its agents may open. The token is shown only once, in the response to the create, and stored as a hash. Deleting the credential ends its tunnel sessions.',
  eventNoun: 'tunnel_credential',
  config: Type.Object({
    ...describedFields,
    acl: aclField(
      `Permissions of agents with this token. "bind:app.example.com", "bind:*.example.com" and "bind:env=prod" allow host names and labels; without a "bind:" rule, all are allowed. "${CONFIGURE_EXAMPLE}" and "configure:*" allow modules on the endpoints of agents; without a "configure:" rule, all are allowed.`,
    ),
  }),
  derived: { owner_id: ownerId },
  shownOnce: {
    token: Type.String({
      description: 'The agent token. Only this response shows it.',
      examples: ['postern_cr_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleE'],
    }),
  },
  example: { description: 'build machines', acl: ['bind:*.builds.example.com'] },
  check: (config) => {
    const problem = config.acl.map(aclRuleProblem).find((each) => each !== null);
    return problem === undefined ? [] : [bodyProblem('acl', problem)];
  },
  narrowable: ['acl'],
  isRevocation: (config, previous) => config === null || isNarrowerAcl(config.acl, previous.acl),
  onCreate: (_config, ports) => {
    const token = ports.newToken(CREDENTIAL_PREFIX);
    return { internal: { token_hash: hashToken(token) }, shownOnce: { token } };
  },
  uniqueKeys: (_config, _owner, extra) => [
    { scope: 'credential_token', key: String((extra['internal'] as { token_hash: string }).token_hash) },
  ],
  afterDelete: async (record, { store }: CredentialPorts) => {
    await store.presence.removeByCredential(record.id);
  },
});

const KIND = 'credential';

/** The hash of its token. Throws if it is not what the API writes. */
export function readCredential(doc: JsonObject): string {
  const { token_hash: tokenHash } = doc['internal'] as JsonObject;
  if (typeof tokenHash !== 'string') throw new Error('the credential has no hash');
  return tokenHash;
}

interface CredentialRights {
  readonly acl: readonly string[];
}

interface CredentialDirectory {
  find(token: string): (CredentialRights & { readonly id: string }) | null;
  get(id: string): CredentialRights | null;
  /** Reads what other processes have changed. Calls at the same time share one query. */
  refresh(): Promise<void>;
  /** False: for some seconds it has been unknown here what other processes deleted. */
  isCurrent(): boolean;
  /** The listener is called when a credential is changed or deleted. */
  onChange(listener: (credentialId: string) => void): () => void;
}

/** What other processes did to the store. */
interface OtherProcesses {
  readonly isCurrent: boolean;
  catchUp(): Promise<void>;
}

/** Agents' credentials by token, without a database. */
export function credentialDirectory(replica: Replica, others: OtherProcesses): CredentialDirectory {
  const idByHash = new Map<string, string>();
  const hashById = new Map<string, string>();
  const remove = (id: string): void => {
    idByHash.delete(hashById.get(id) ?? '');
    hashById.delete(id);
  };
  const add = ({ id, doc }: StoredRecord): void => {
    remove(id);
    const tokenHash = readOrNull(() => readCredential(doc));
    if (tokenHash === null) return;
    idByHash.set(tokenHash, id);
    hashById.set(id, tokenHash);
  };
  for (const record of replica.all(KIND)) add(record);
  const listeners = new Set<(credentialId: string) => void>();
  replica.onChange(
    (changes) => {
      for (const change of changes) {
        const { kind, id } = change.op === 'put' ? change.record : change.key;
        if (kind !== KIND) continue;
        if (change.op === 'put') add(change.record);
        else remove(id);
        for (const listener of listeners) listener(id);
      }
    },
    [KIND],
  );
  const get: CredentialDirectory['get'] = (id) => {
    const record = replica.get(KIND, id);
    return record === undefined ? null : { acl: record.doc['acl'] as readonly string[] };
  };
  return {
    get,
    refresh: () => others.catchUp(),
    isCurrent: () => others.isCurrent,
    find: (token) => {
      const id = idByHash.get(hashToken(token));
      const found = id === undefined ? null : get(id);
      return id === undefined || found === null ? null : { id, ...found };
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
