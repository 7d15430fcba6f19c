import type { Config } from '../../config/schema.ts';
import type { Module } from '../../modules/contract/module.ts';
import { login } from '../../modules/login/login.ts';
import type { LoginSettings } from '../../modules/login/settings.ts';
import { moduleRecordKey } from '../../modules/module-config.ts';
import { settingsOf } from '../../modules/module-settings.ts';
import type { RecordReader } from '../../replica/record-table.ts';
import type { LoginLimits } from '../../resources/app_sessions/app-sessions.ts';

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
      const { kind, id } = moduleRecordKey('https_edge_route', routeId, name);
      const doc = reader.get(kind, id)?.doc;
      if (doc === undefined || doc['enabled'] === false) continue;
      return {
        maximum_duration: Number(doc['maximum_duration']) || settings.login_maximum_duration,
        inactivity_timeout: Number(doc['inactivity_timeout']) || settings.login_inactivity_timeout,
      };
    }
    return null;
  };
}
