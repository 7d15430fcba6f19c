import { readOrNull } from '../lib/read-or-null.ts';
import type { AskedClaims, LearningClient } from '../modules/contract/learns-claims.ts';
import type { Module } from '../modules/contract/module.ts';
import { moduleRecordKey } from '../modules/module-record-key.ts';
import { type ModuleSettings, settingsOf } from '../modules/module-settings.ts';
import type { Replica } from '../replica/replica.ts';

const ROUTE_KIND = 'https_edge_route';

export interface RoutePlace {
  readonly edgeId: string;
  readonly routeId: string;
}

/** The login client of a route. Absent `asked`: the claims that its stored rules read. Null: nobody logs in there. */
export type RouteLogins = (place: RoutePlace, asked?: readonly AskedClaims[]) => LearningClient | null;

export interface RouteLoginSources {
  readonly modules: readonly Module[];
  readonly replica: Pick<Replica, 'get'>;
  readonly moduleSettings: ModuleSettings;
}

export function routeLogins({ modules, replica, moduleSettings }: RouteLoginSources): RouteLogins {
  return ({ edgeId, routeId }, asked = askedOn(routeId, modules, replica)) => {
    for (const module of modules) {
      const config = module.learnsFrom === undefined ? null : enabledConfig(routeId, module, replica);
      if (config === null) continue;
      const settings = settingsOf(moduleSettings, module);
      // The route refuses, and says so.
      return readOrNull(() => module.learnsFrom?.(config, { edgeId, settings, asked }) ?? null);
    }
    return null;
  };
}

/** The claims that the rules of a route read. */
export function askedOn(
  routeId: string,
  modules: readonly Module[],
  replica: Pick<Replica, 'get'>,
): readonly AskedClaims[] {
  return modules.flatMap((module) => {
    const config = module.askedClaims === undefined ? null : enabledConfig(routeId, module, replica);
    return config === null ? [] : (readOrNull(() => module.askedClaims?.(config) ?? []) ?? []);
  });
}

function enabledConfig(routeId: string, { name }: Module, replica: Pick<Replica, 'get'>) {
  const key = moduleRecordKey(ROUTE_KIND, routeId, name);
  const config = replica.get(key.kind, key.id)?.doc ?? null;
  return config === null || config['enabled'] === false ? null : config;
}
