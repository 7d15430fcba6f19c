import type { JsonObject } from '../lib/json.ts';
import { type FieldProblem, pointerTo } from '../lib/schema/field-problem.ts';
import type { Module } from '../modules/contract/module.ts';
import { moduleRecordKey } from '../modules/module-record-key.ts';
import type { Expectation } from '../store/store.ts';
import type { CompiledModule } from './compiled.ts';
import type { DocumentsContext } from './documents-context.ts';
import { invalidBody } from './errors.ts';
import type { ModuleParts } from './record-puts.ts';

/** A route has at most one enabled login module: it would not be clear at which of two to log in. */
export function secondLogin(modules: ReadonlyMap<CompiledModule, JsonObject>): readonly FieldProblem[] {
  const logins = [...modules].filter(([{ module }, config]) => isEnabledLogin(module, config));
  return logins.slice(1).map(([{ module }]) => problem(pointerTo('', module.name), logins[0]?.[0].module.name ?? ''));
}

/** The other login modules must stay absent or disabled while one is written. Throws when one is enabled. */
export function expectNoOtherLogin(
  { module, kind }: CompiledModule,
  { ownerId, config, at }: ModuleParts,
  { catalog, replica }: Pick<DocumentsContext, 'catalog' | 'replica'>,
): readonly Expectation[] {
  if (!isEnabledLogin(module, config)) return [];
  const ownerKind = kind.slice(0, -module.name.length - 1);
  const others = catalog.modules.filter(({ isLogin, name }) => isLogin === true && name !== module.name);
  return others.map(({ name }) => {
    const key = moduleRecordKey(ownerKind, ownerId, name);
    const record = replica.get(key.kind, key.id);
    if (record !== undefined && record.doc['enabled'] !== false) throw invalidBody([problem(at, name)]);
    return { ...key, revision: record?.revision ?? 'absent' };
  });
}

function isEnabledLogin({ isLogin }: Module, config: JsonObject): boolean {
  return isLogin === true && config['enabled'] !== false;
}

function problem(path: string, other: string): FieldProblem {
  return {
    path: path === '' ? '/enabled' : path,
    message: `cannot be enabled together with the ${other} module, because a route has one login: delete or disable ${other} first`,
  };
}
