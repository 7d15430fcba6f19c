import type { Pass, TrafficRequest, Verdict } from '../prepared-module.ts';

/** Recognizes requesters that need no login, such as programs by their token. */
export interface Recognizer {
  /**
   * Sets the permit and passes, or refuses. Null: the request has no such token or link, so the next one is asked, and
   * then the login.
   */
  identify(request: TrafficRequest): Verdict | null | Promise<Verdict | null>;
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
