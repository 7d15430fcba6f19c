import { invitationId, USER_INVITATION_KIND } from '../../identity/people/people-records.ts';
import type { RecordReader } from '../../replica/record-reader.ts';
import type { EndedPerson } from '../../store/identity-store.ts';
import type { RecordKey, StoredRecord } from '../../store/store.ts';
import { CONSOLE_SESSION_KIND, sessionOf } from '../console-session-record.ts';
import type { ResourceSettings } from '../resource.ts';

const ALL = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

interface SignedOut {
  readonly deletes: readonly RecordKey[];
  readonly endsPeople: readonly EndedPerson[];
}

/** Everything that ends when a person is logged out, for one transaction. `keepsLink`: the invitation ends otherwise. */
export function signedOut(
  accountId: string,
  { reader, identity }: { readonly reader: RecordReader; readonly identity: ResourceSettings['identity'] },
  { keepsLink = false }: { readonly keepsLink?: boolean } = {},
): SignedOut {
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
