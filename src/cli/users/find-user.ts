import type { Transport } from '../../client/transport.ts';
import { usage } from '../../lib/flags.ts';
import { emailAddress } from '../../lib/text/email-address.ts';
import { printable } from '../api/cell-text.ts';
import { isId } from '../names/is-id.ts';
import { allUsers } from './list-users.ts';

/** The id of a person. By address or id alone: names and descriptions are not unique, and others can choose them. */
export async function findUser(transport: Transport, person: string): Promise<string> {
  if (isId(person)) return person;
  const wanted = emailAddress(person)?.text;
  const found = (await allUsers(transport)).find(({ email }) => emailAddress(email)?.text === wanted);
  if (wanted === undefined || found === undefined) {
    throw usage(`nobody has the address "${printable(person)}": postern users list shows all people`);
  }
  return found.id;
}
