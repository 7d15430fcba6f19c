import type { HeaderList } from '../../../lib/http/header-list.ts';
import type { WholeAnswer, WholeRequest } from '../../../lib/http/whole-request.ts';
import type { Person } from '../../contracts/identity-people.ts';
import type { IdentitySession } from '../../contracts/identity-sessions.ts';
import type { OwnForm } from '../own-form.ts';
import { redirectAnswer } from '../page-answer.ts';
import type { AccountNews } from './account-page.ts';

/** A form of the account page, sent by the person who is signed in. */
export interface AccountForm extends OwnForm {
  readonly request: WholeRequest;
  readonly session: IdentitySession;
  readonly account: Person;
}

/** Back to the page, which says what was done. */
export function toAccount(done: AccountNews, headers: HeaderList = []): WholeAnswer {
  return redirectAnswer(`/account?done=${done}`, headers);
}
