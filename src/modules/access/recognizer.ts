import type { HeaderList } from '../../kit/http/header-values.ts';
import type { Pass, Refusal, TrafficRequest, Verdict } from '../contract/decides.ts';
import type { HeaderChange } from '../contract/prepared-module.ts';

/** Recognizes requesters that need no login, such as programs by their token. */
export interface Recognizer {
  /**
   * Sets the permit and passes, or refuses. Null: the request has no such token or link, so the next one is asked, and
   * then the login.
   */
  identify(request: TrafficRequest): Verdict | null | Promise<Verdict | null>;
  /** The answer to a request that nobody was recognized for, where no login is asked; null: the usual one. */
  refusalWithout?(request: TrafficRequest): Refusal | null;
  /** What the upstream learns about a requester whom it recognized; null: it was not this one. */
  upstreamHeaders?(request: TrafficRequest): HeaderList | null;
  /** Changes the request of somebody whom it recognized. */
  transformRequest?(request: TrafficRequest): HeaderChange | null;
}

/** The first answer of a recognizer that has one. */
export function firstOf<Answer>(
  recognizers: readonly Recognizer[],
  ask: (recognizer: Recognizer) => Answer | null | undefined,
): Answer | null {
  for (const recognizer of recognizers) {
    const answer = ask(recognizer) ?? null;
    if (answer !== null) return answer;
  }
  return null;
}

const NOBODY: Pass = { isPass: true, reason: 'nobody_recognized' };

export function identifyInTurn(
  recognizers: readonly Recognizer[],
  request: TrafficRequest,
  from = 0,
): Verdict | Promise<Verdict> {
  for (let at = from; at < recognizers.length; at += 1) {
    const answer = recognizers[at]?.identify(request) ?? null;
    if (answer instanceof Promise) {
      return answer.then((verdict) => verdict ?? identifyInTurn(recognizers, request, at + 1));
    }
    if (answer !== null) return answer;
  }
  return NOBODY;
}
