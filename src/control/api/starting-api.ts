import type { RequestListener } from 'node:http';
import type { Clock } from '../../kit/clock.ts';
import { createDenseIds } from '../../kit/text/ksuid.ts';
import { startingError } from './authentication.ts';
import { PlainRefusals } from './error-response.ts';
import type { ProtocolErrorAnswers } from './protocol-errors.ts';

/** The part of the API that a listener needs. */
export interface ApiHandler {
  readonly handle: RequestListener;
  readonly protocolErrors: ProtocolErrorAnswers;
}

/**
 * Replaces the API between the opening of its listener and its own start: every request is answered with "retry later".
 */
export function startingApi(clock: Clock): ApiHandler {
  const denseIds = createDenseIds('op');
  const refusals = new PlainRefusals({ newOperationId: () => denseIds(clock.nowMs()), onRefused: () => {} });
  return {
    handle: (request, response) => refusals.answer(request, response, startingError()),
    protocolErrors: { refusals, refusePath: startingError },
  };
}
