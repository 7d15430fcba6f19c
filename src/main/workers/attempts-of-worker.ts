import type { AttemptBudgets, BegunAttempt, SpendableState } from '../../modules/contract/attempt-budgets.ts';
import type { Attempt, Callback, TooManyAttempts } from '../../modules/login/flow/login-attempts.ts';
import type { PasswordClaim, PasswordVerdict } from '../../modules/login/password-checks.ts';

/** An attempt on its way to a worker: its number. */
export type NumberedAttempt = number | TooManyAttempts | null;

export type AttemptOutcome = keyof Attempt;

/** What a worker asks the main thread about attempts. */
export interface AttemptMethods {
  redeem(callback: Callback, state: SpendableState): Promise<NumberedAttempt>;
  guess(callback: Callback): Promise<NumberedAttempt>;
  checkPassword(claim: PasswordClaim): Promise<PasswordVerdict>;
  endAttempt(number: number, outcome: AttemptOutcome): void;
}

/** For one worker. If it ends, the attempts that it has begun stay taken, as if they had failed. */
export function attemptsOfWorker(budgets: AttemptBudgets): AttemptMethods {
  const begun = new Map<number, Attempt>();
  let last = 0;
  const numbered = (attempt: BegunAttempt | null): NumberedAttempt => {
    if (attempt === null || 'limit' in attempt) return attempt;
    last += 1;
    begun.set(last, attempt);
    return last;
  };
  return {
    redeem: async (callback, state) => numbered(await budgets.redeem(callback, state)),
    guess: async (callback) => numbered(await budgets.guess(callback)),
    checkPassword: async (claim) => budgets.checkPassword(claim),
    endAttempt: (number, outcome) => {
      begun.get(number)?.[outcome]();
      begun.delete(number);
    },
  };
}

/** The budgets of the main thread, for a worker. */
export function remoteBudgets(main: AttemptMethods): AttemptBudgets {
  const attemptOf = (begun: NumberedAttempt): BegunAttempt | null => {
    if (typeof begun !== 'number') return begun;
    return {
      succeeded: () => main.endAttempt(begun, 'succeeded'),
      failed: () => main.endAttempt(begun, 'failed'),
      unused: () => main.endAttempt(begun, 'unused'),
    };
  };
  return {
    redeem: async (callback, state) => attemptOf(await main.redeem(callback, state)),
    guess: async (callback) => attemptOf(await main.guess(callback)) as BegunAttempt,
    checkPassword: (claim) => main.checkPassword(claim),
  };
}
