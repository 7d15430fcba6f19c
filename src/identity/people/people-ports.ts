import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Replica } from '../../replica/replica.ts';
import type { OutboxEvent, RecordPut, Store, StoredRecord } from '../../store/store.ts';
import type { PersonalMail } from '../contracts/identity-mail.ts';
import type { Person } from '../contracts/identity-people.ts';

export interface PeoplePorts {
  readonly store: Pick<Store, 'commit' | 'mac'>;
  readonly replica: Replica;
  readonly clock: Clock;
  /** The identity host: without its port, and with it. */
  readonly address: { readonly hostname: string; readonly issuer: string };
  newId(prefix: string): string;
  /** Null: mail is off, or too many mails wait. */
  mail(mail: PersonalMail): RecordPut | null;
  passkeyEvent(type: 'passkey_created.v0' | 'passkey_deleted.v0', record: StoredRecord): readonly OutboxEvent[];
  /** As an administrator can, by wish of the person. */
  signOut(person: Pick<Person, 'id' | 'email'>): Promise<void>;
  /** Scopes of the role that the setting console_roles gives a person with these claims; none without a role. */
  consoleScopesOf(claims: JsonObject): readonly string[];
}
