import type { LoginLimits } from '../../../control/resources/app_sessions/app-sessions.ts';
import type { Clock } from '../../../kit/clock.ts';
import { type AttemptBudgets, attemptBudgets } from '../../../modules/contract/attempt-budgets.ts';
import type { LoginRecords } from '../../../modules/contract/login-store.ts';
import type { Module } from '../../../modules/contract/module.ts';
import { login } from '../../../modules/login/login.ts';
import type { LoginSettings } from '../../../modules/login/settings.ts';
import { moduleOfRoute } from '../../../modules/module-config.ts';
import { settingsOf } from '../../../modules/module-settings.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { Store } from '../../../store/store.ts';
import type { NodeNews } from '../../../tunnel/nodes/news/node-news.ts';
import type { Config } from '../../settings/schema.ts';

/** What clients of this server may still try. */
export function loginBudgets(config: Config, logins: Pick<LoginRecords, 'claimOnce'>, clock: Clock): AttemptBudgets {
  return attemptBudgets(settingsOf(config.moduleSettings, login), logins, clock);
}

/** Limits of logins by route: the login module's own, or the server's where it has none. */
export function loginLimits(
  reader: RecordReader,
  modules: readonly Module[],
  config: Config,
): (routeId: string) => LoginLimits | null {
  const settings: LoginSettings = settingsOf(config.moduleSettings, login);
  const names = modules.filter(({ isLogin }) => isLogin === true).map(({ name }) => name);
  return (routeId) => {
    for (const name of names) {
      const doc = moduleOfRoute(reader, routeId, name)?.doc;
      if (doc === undefined || doc['enabled'] === false) continue;
      return {
        maximum_duration: Number(doc['maximum_duration']) || settings.login_maximum_duration,
        inactivity_timeout: Number(doc['inactivity_timeout']) || settings.login_inactivity_timeout,
      };
    }
    return null;
  };
}

/** The logins of the store, for modules. Linked nodes tell of theirs sooner than the database, and without it. */
export function moduleLogins(store: Pick<Store, 'logins' | 'sharing'>, news: NodeNews | null): LoginRecords {
  const { logins: stored } = store;
  return {
    ...stored,
    ...(news !== null &&
      ({
        changesSince: (seq) => news.loginsSince(seq),
        onChanged: (listener) => {
          const stops = [stored.onChanged(listener), news.onLogins(listener)];
          return () => {
            for (const stop of stops) stop();
          };
        },
      } satisfies Partial<typeof stored>)),
    threads: null,
    get isShared() {
      return store.sharing.isShared;
    },
  };
}
