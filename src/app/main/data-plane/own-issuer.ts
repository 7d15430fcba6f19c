import type { IdentityHost, IdentityPeopleReader } from '../../../control/identity/contracts.ts';
import { ownFetch } from '../../../control/identity/own-fetch.ts';
import { accountClaims, accountOf, USER_ACCOUNT_KIND } from '../../../control/identity/people-records.ts';
import type { OwnIssuer } from '../../../modules/contract/own-issuer.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';

export interface OwnIssuerPorts {
  readonly issuer: string;
  readonly reader: Pick<RecordReader, 'get'>;
  readonly mac: (purpose: string, data: string) => string;
  /** In the thread that has the provider. */
  readonly serve: IdentityHost['serve'];
}

/** Postern's own provider, as logins use it in any thread. */
export function createOwnIssuer({ issuer, reader, mac, serve }: OwnIssuerPorts): OwnIssuer {
  const people = peopleIn(reader);
  return {
    issuer,
    fetch: ownFetch(issuer, serve),
    clientSecretOf: (clientId) => mac('identity-client', clientId),
    personOf: (subject) => people.find(subject),
  };
}

/** From memory, where every change of any node arrives within a second. */
export function peopleIn(reader: Pick<RecordReader, 'get'>): IdentityPeopleReader {
  return {
    find: (id) => {
      const record = reader.get(USER_ACCOUNT_KIND, id);
      if (record === undefined) return null;
      const account = accountOf(record);
      if (!account.isActive) return null;
      return { revision: record.revision, claims: accountClaims(account), groups: account.groups };
    },
  };
}
