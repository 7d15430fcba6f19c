import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';
import type { Attempt, PagePorts } from './page-ports.ts';
import { refusalAnswer } from './refusal.ts';

/** One more attempt from the address of a request, or the refusal. */
export function beginAttempt(
  { attempts }: Pick<PagePorts, 'attempts'>,
  request: WholeRequest,
): Attempt | { readonly answer: WholeAnswer } {
  const started = attempts.begin(request.clientAddress);
  if (!('retryAfterSeconds' in started)) return started;
  const { retryAfterSeconds } = started;
  return {
    answer: refusalAnswer(request, {
      code: 'ERR_POSTERN_IDENTITY_RATE_LIMITED',
      title: 'Too many attempts',
      message: `Too many attempts to log in from your address or network failed. Try again in ${retryAfterSeconds} s.`,
      headers: ['retry-after', String(retryAfterSeconds)],
    }),
  };
}
