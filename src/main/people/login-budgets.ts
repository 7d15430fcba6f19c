import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { type AttemptBudgets, attemptBudgets } from '../../modules/contract/attempt-budgets.ts';
import type { LoginRecords } from '../../modules/contract/login-store.ts';
import { login } from '../../modules/login/login.ts';
import { settingsOf } from '../../modules/module-settings.ts';

/** What clients of this server may still try. */
export function loginBudgets(config: Config, logins: Pick<LoginRecords, 'claimOnce'>, clock: Clock): AttemptBudgets {
  return attemptBudgets(settingsOf(config.moduleSettings, login), logins, clock);
}
