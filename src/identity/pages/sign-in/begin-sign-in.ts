import { queryOf, type WholeAnswer, type WholeRequest } from '../../../lib/http/whole-request.ts';
import type { WaitingInteraction } from '../../contracts/identity-sessions.ts';
import { beginAttempt } from '../begin-attempt.ts';
import { type OwnForm, ownForm } from '../own-form.ts';
import type { Attempt, PagePorts } from '../page-ports.ts';
import { refusalAnswer } from '../refusal.ts';

interface BegunSignIn extends OwnForm {
  readonly interaction: WaitingInteraction | null;
  readonly attempt: Attempt;
}

/** A form with a proof: sent by our own page, for an application that still waits if it names one, as one more attempt. */
export async function beginSignIn(
  ports: PagePorts,
  request: WholeRequest,
): Promise<BegunSignIn | { readonly answer: WholeAnswer }> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form;
  const found = await findInteraction(ports, request);
  if ('answer' in found) return found;
  const attempt = beginAttempt(ports, request);
  return 'answer' in attempt ? attempt : { ...form, ...found, attempt };
}

/** The application's request that the address names; a refusal if it names one that is over. */
export async function findInteraction(
  { sessions }: Pick<PagePorts, 'sessions'>,
  request: WholeRequest,
): Promise<{ readonly interaction: WaitingInteraction | null } | { readonly answer: WholeAnswer }> {
  if (!queryOf(request).has('interaction')) return { interaction: null };
  const interaction = await sessions.interactionOf(request);
  if (interaction !== null) return { interaction };
  const message =
    'The application no longer waits for this login, or asked for it in another browser. Open the application again.';
  const action = { label: 'My account', href: '/account' };
  return {
    answer: refusalAnswer(request, {
      code: 'ERR_POSTERN_IDENTITY_REQUEST_OVER',
      title: 'This login is over',
      message,
      action,
    }),
  };
}
