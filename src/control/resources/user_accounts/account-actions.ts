import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import type { EndedPerson } from '../../../store/identity-store.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { RecordKey, Store, StoredRecord } from '../../../store/store.ts';
import type { PersonalMail } from '../../identity/contracts.ts';
import {
  accountOf,
  formerHashes,
  invitationId,
  type NewInvitation,
  newInvitation,
  USER_ACCOUNT_KIND,
  USER_INVITATION_KIND,
} from '../../identity/people-records.ts';
import { CONSOLE_SESSION_KIND, sessionOf } from '../console-session-record.ts';
import { resourceErrors } from '../errors.ts';
import type { Operation } from '../operation.ts';
import { deletedPasskeys, type PasskeyEventPorts } from '../passkeys/passkeys.ts';
import type { DocumentsPort, SharedPorts } from '../ports.ts';
import type { IdentityFacts, ResourceSettings } from '../resource.ts';

/** Throws while identity is off: a link could lead nowhere. */
export function identityOf({ identity }: Pick<ResourceSettings, 'identity'>): IdentityFacts {
  if (identity !== null) return identity;
  throw resourceErrors.create(
    'ERR_POSTERN_IDENTITY_OFF',
    'this server has no identity host, so nobody can be invited: set identity_host (POSTERN_IDENTITY_HOST) and start the server again',
  );
}

/** The mail that brings a person the link. */
export function invitationMail(
  { email, name }: { readonly email: string; readonly name: string },
  { url, expiresAtMs }: Pick<NewInvitation, 'url' | 'expiresAtMs'>,
  { hostname }: Pick<IdentityFacts, 'hostname'>,
): PersonalMail {
  const end = new Date(expiresAtMs).toUTCString();
  return {
    to: email,
    subject: `Your invitation to ${hostname}`,
    text: [
      name === '' ? 'Hello,' : `Hello ${name},`,
      `you can log in at ${hostname}. Open this link and register a passkey on your device:`,
      url,
      `The link works once, until ${end}. Keep it to yourself: with it, somebody else could log in as you.`,
      'If you did not expect this mail, ignore it.',
    ].join('\n\n'),
    expiresAtMs,
  };
}

const ALL = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

interface LoggedOut {
  readonly deletes: readonly RecordKey[];
  readonly endsPeople: readonly EndedPerson[];
}

/**
 * Everything that ends when a person is logged out, for one transaction. `keepsLink`: the invitation ends otherwise.
 */
export function loggedOut(
  accountId: string,
  { reader, identity }: { readonly reader: RecordReader; readonly identity: ResourceSettings['identity'] },
  { keepsLink = false }: { readonly keepsLink?: boolean } = {},
): LoggedOut {
  const links = keepsLink ? [] : invitationsOf(accountId, reader).map(keyOf);
  // While identity is off, nobody is logged in by it.
  if (identity === null) return { deletes: links, endsPeople: [] };
  const { issuer } = identity;
  return {
    deletes: [...links, ...consoleSessionsOf(accountId, issuer, reader)],
    endsPeople: [{ issuer, accountId }],
  };
}

/** The invitation of the person, if there is one. */
export function invitationsOf(accountId: string, reader: RecordReader): readonly StoredRecord[] {
  const invitation = reader.get(USER_INVITATION_KIND, invitationId(accountId));
  return invitation === undefined ? [] : [invitation];
}

/** Logins to the console with this account. */
function consoleSessionsOf(accountId: string, issuer: string, reader: RecordReader): readonly RecordKey[] {
  return reader
    .page(CONSOLE_SESSION_KIND, ALL)
    .filter((record) => {
      const { who } = sessionOf(record);
      return who.kind === 'person' && who.issuer === issuer && who.subject === accountId;
    })
    .map(keyOf);
}

export function keyOf({ kind, id }: RecordKey): RecordKey {
  return { kind, id };
}

export interface AccountPorts extends Pick<SharedPorts, 'clock'>, PasskeyEventPorts {
  readonly documents: Pick<DocumentsPort, 'update' | 'require' | 'reader'>;
  readonly store: Pick<Store, 'mac'>;
  readonly people: Pick<ResourceSettings, 'identity'> & { newToken(prefix: string): string };
}

const PATH = '/user_accounts/{id}';

const invitationSchema = Type.Object({
  invitation_url: Type.String({
    description: 'The link for the person. Only this response shows it.',
    examples: ['https://id.example.com/invitation?invite=postern_ui_EXAMPLEexampleEXAMPLEexample'],
  }),
  expires_at: Type.String({ format: 'date-time', description: 'When the link ends.' }),
  invitation_sent_to: Type.Union([Type.String(), Type.Null()], {
    description: 'Address that gets the link by mail; null if no mail is sent.',
    examples: ['ana@example.com'],
  }),
});

/** Inviting people again, and ending their logins. */
export const accountActions: readonly Operation<AccountPorts>[] = [
  {
    resource: 'user_accounts',
    verb: 'invite',
    method: 'POST',
    path: `${PATH}/invite`,
    summary: 'Make a new invitation link for a person',
    description:
      'An earlier link of the person no longer works. With remove_passkeys, all passkeys of the person end immediately, and so do their logins: for a person who lost a device.',
    body: {
      schema: Type.Object(
        {
          remove_passkeys: Type.Optional(
            Type.Boolean({ description: 'Whether the passkeys and logins of the person end now. Default: false.' }),
          ),
        },
        { additionalProperties: false },
      ),
      example: { remove_passkeys: false },
    },
    success: { status: 200, schema: invitationSchema, description: 'The invitation.' },
    returnsRevision: true,
    errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_IDENTITY_OFF', 'ERR_POSTERN_ACCOUNT_DISABLED'],
    run: async (request, ports) => {
      const id = request.params['id'] as string;
      const { documents, clock, store, people } = ports;
      const { reader } = documents;
      const identity = identityOf(people);
      const { issuer, invitationMs: lifetimeMs } = identity;
      const invitation = newInvitation(id, request.principal, {
        ...{ issuer, lifetimeMs, nowMs: clock.nowMs() },
        former: formerHashes(reader.get(USER_INVITATION_KIND, invitationId(id))),
        newToken: (prefix) => people.newToken(prefix),
        mac: (purpose, data) => store.mac(purpose, data),
      });
      let sentTo: string | null = null;
      const { revision } = await documents.update(USER_ACCOUNT_KIND, id, request, () => {
        const account = accountOf(documents.require(USER_ACCOUNT_KIND, id));
        if (!account.isActive) throw disabled(id);
        const mail = identity.mail(invitationMail(account, invitation, identity));
        sentTo = mail === null ? null : account.email;
        const removed = request.body['remove_passkeys'] === true ? deletedPasskeys(id, request.principal, ports) : null;
        const ended = removed === null ? null : loggedOut(id, { reader, identity }, { keepsLink: true });
        return {
          beside: {
            puts: [invitation.put, ...(mail === null ? [] : [mail])],
            deletes: [...(removed?.deletes ?? []), ...(ended?.deletes ?? [])],
            events: removed?.events ?? [],
            endsPeople: ended?.endsPeople ?? [],
          },
          isGiving: true,
          event: 'invited',
        };
      });
      const expiresAt = rfc3339(invitation.expiresAtMs);
      const body = { invitation_url: invitation.url, expires_at: expiresAt, invitation_sent_to: sentTo };
      return { body, revision };
    },
  },
  {
    resource: 'user_accounts',
    verb: 'sign_out',
    method: 'POST',
    path: `${PATH}/sign_out`,
    summary: 'End all logins of a person',
    description:
      'Ends, on every node within a second: logins on routes, console sessions, sessions at the identity host, logins at other applications, and the invitation link. The passkeys stay. The request body is ignored.',
    body: { schema: Type.Object({}), example: {}, parsing: 'ignored' },
    success: { status: 204, schema: null, description: 'The person is logged out.' },
    returnsRevision: true,
    errors: ['ERR_POSTERN_NOT_FOUND'],
    run: async (request, { documents, people }) => {
      const id = request.params['id'] as string;
      const { reader } = documents;
      const { revision } = await documents.update(USER_ACCOUNT_KIND, id, request, () => ({
        beside: loggedOut(id, { reader, identity: people.identity }),
        event: 'signed_out',
      }));
      return { body: null, revision };
    },
  },
];

function disabled(id: string): Error {
  return resourceErrors.create(
    'ERR_POSTERN_ACCOUNT_DISABLED',
    `the account ${id} is disabled: set "active" to true before you invite the person`,
    { details: { id } },
  );
}
