import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { type AttemptBudgets, attemptBudgets } from '../../modules/login/flow/attempt-budgets.ts';
import { login } from '../../modules/login/login.ts';
import type { LoginRecords } from '../../modules/login/login-store.ts';
import { settingsOf } from '../../modules/module-settings.ts';

/** What clients of this server may still try. */
export function loginBudgets(config: Config, logins: Pick<LoginRecords, 'claimOnce'>, clock: Clock): AttemptBudgets {
  return attemptBudgets(settingsOf(config.moduleSettings, login), logins, clock);
}
