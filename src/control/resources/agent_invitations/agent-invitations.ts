import type { Static } from 'typebox';
import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import { isWildcardHost, parseListenAddress } from '../../../kit/net/listen-address.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { RecordKey, StoredRecord } from '../../../store/store.ts';
import { aclField, aclRuleProblem } from '../credentials/credentials.ts';
import type { Principal } from '../operation.ts';
import { type Created, type CreatePorts, defineResource, describedFields, timestamp } from '../resource.ts';
import { coversScope } from '../scopes.ts';

export const AGENT_INVITATION_KIND = 'agent_invitation';

/** Stored with an invitation and never shown. */
interface InvitationInternal {
  readonly secret_hash: string;
  /** For the history of the credential. */
  readonly invited_by: Omit<Principal, 'scopes'>;
}

interface StoredInvitation {
  readonly description: string;
  readonly acl: readonly string[];
  readonly expiresAtMs: number;
  readonly secretHash: string;
  readonly invitedBy: Omit<Principal, 'scopes'>;
}

export function invitationOf({ doc }: StoredRecord): StoredInvitation {
  const internal = doc['internal'] as unknown as InvitationInternal;
  return {
    description: doc['description'] as string,
    acl: doc['acl'] as readonly string[],
    expiresAtMs: Date.parse(doc['expires_at'] as string),
    secretHash: internal.secret_hash,
    invitedBy: internal.invited_by,
  };
}

const LIFETIME_MS = 600_000;
const SECRET_BYTES = 16;
const CREDENTIALS_WRITE = 'credentials:write';

const config = Type.Object({
  ...describedFields,
  acl: aclField('Permissions of the credential that the agent gets, as in /credentials. It cannot be changed later.'),
  gateway: Type.String({
    default: '',
    maxLength: 264,
    description:
      'host:port that the agent dials. Default: tunnel_address; otherwise the port of tunnel_listen with the first of tunnel_names, or with its own host. It cannot be changed later.',
  }),
});
type AgentInvitation = Static<typeof config>;

/** One line with which a new agent gets its credential. */
export const agentInvitations = defineResource({
  isNeverRestored: true,
  name: 'agent_invitations',
  kind: AGENT_INVITATION_KIND,
  idPrefix: 'ai',
  path: '/agent_invitations',
  listKey: 'agent_invitations',
  title: 'an agent invitation',
  description:
    'A line that an agent on another machine exchanges for a credential of its own, once and within ten minutes ("postern agent join"). It contains the address of the gateway, the hash of its CA, and a secret that is stored as a hash; only the response to the create shows it. The exchange deletes the invitation and creates the credential in one change. Deleting the invitation revokes it.',
  eventNoun: 'agent_invitation',
  config,
  immutable: ['acl', 'gateway'],
  derived: {
    expires_at: timestamp('When the invitation ends: ten minutes after its creation.'),
    ca_sha256: Type.Union([Type.String(), Type.Null()], {
      description:
        "SHA-256 of the CA certificate that signs the gateway's certificate, in hex. Null: the gateway has a certificate from files or from an ACME server, and the agent trusts the authorities of its system.",
      examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
    }),
  },
  shownOnce: {
    invitation: Type.String({
      description: 'The line for "postern agent join". Only this response shows it.',
      examples: ['pstn-EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleEXAMPLEexampleEXAMPLE'],
    }),
  },
  example: {
    description: 'build machines',
    acl: ['bind:*.builds.example.com'],
    gateway: 'gateway.example.com:7444',
  },
  check: ({ acl, gateway }) => [
    ...problemAt('acl', acl.map(aclRuleProblem).find((each) => each !== null) ?? null),
    ...problemAt('gateway', gateway === '' ? null : gatewayProblem(gateway)),
  ],
  isRevocation: (invitation) => invitation === null,
  // An invitation gives away a credential.
  authorize: ({ scopes }, invitation, previous) =>
    invitation === null || previous !== null || coversScope(scopes, CREDENTIALS_WRITE)
      ? null
      : {
          scope: CREDENTIALS_WRITE,
          message: `an invitation becomes a credential, and this API key lacks the scope "${CREDENTIALS_WRITE}": use a key that has it`,
        },
  onCreate: create,
  uniqueKeys: (_invitation, _owner, extra) => [
    { scope: 'agent_invitation_secret', key: (extra['internal'] as unknown as InvitationInternal).secret_hash },
  ],
});

async function create({ gateway: wanted }: AgentInvitation, ports: CreatePorts): Promise<Created> {
  const { principal, settings, nowMs, reader } = ports;
  const secret = Buffer.from(ports.newToken(''), 'base64url').subarray(0, SECRET_BYTES).toString('base64url');
  const made = await settings.inviteAgent(wanted === '' ? null : wanted, secret);
  if ('problem' in made) return { problems: problemAt('gateway', made.problem) };
  const { apiKeyId, person, identity } = principal;
  const internal: InvitationInternal = {
    secret_hash: hashToken(secret),
    invited_by: { apiKeyId, ...(person !== undefined && { person }), ...(identity !== undefined && { identity }) },
  };
  return {
    config: { gateway: made.gateway },
    derived: { expires_at: rfc3339(nowMs + LIFETIME_MS), ca_sha256: made.caSha256 },
    internal: { ...internal },
    shownOnce: { invitation: made.line },
    beside: { deletes: expired(reader, nowMs) },
  };
}

/** Invitations that ended unused. */
function expired(reader: RecordReader, nowMs: number): readonly RecordKey[] {
  const all = reader.page(AGENT_INVITATION_KIND, { beforeId: null, limit: Number.MAX_SAFE_INTEGER });
  return all.filter((record) => invitationOf(record).expiresAtMs <= nowMs).map(({ kind, id }) => ({ kind, id }));
}

function gatewayProblem(gateway: string): string | null {
  const address = parseListenAddress(gateway);
  if (address === null || address.port === 0) return 'must be host:port, such as gateway.example.com:7444';
  return isWildcardHost(address.host) ? 'is an address to listen on, which no agent can dial: name a host' : null;
}

function problemAt(field: keyof AgentInvitation, problem: string | null): readonly FieldProblem[] {
  return problem === null ? [] : [bodyProblem(field, problem)];
}
