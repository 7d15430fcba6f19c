import { MissingPart } from '../lib/async/missing-part.ts';
import type { JsonObject } from '../lib/json.ts';
import type { FieldProblem } from '../lib/schema/field-problem.ts';
import type { CheckContext, Module, SealContext, Sealed } from './contract/module.ts';

/** The rules of a module that its schema cannot express. Throws MissingPart. */
export function moduleProblems(module: Module, config: JsonObject, context: CheckContext): readonly FieldProblem[] {
  const loaded = module.load?.(config as never) ?? null;
  if (loaded !== null) throw new MissingPart(loaded);
  return module.check?.(config as never, context) ?? [];
}

/** What is stored of a checked configuration: hashes in place of secrets. Throws MissingPart. */
export function sealed(module: Module, config: JsonObject, context: SealContext<JsonObject>): Sealed<JsonObject> {
  return (module.seal?.(config as never, context as never) as Sealed<JsonObject> | undefined) ?? { config };
}

/** The form of a checked configuration that is stored and shown. */
export function normalized(module: Module, config: JsonObject): JsonObject {
  return (module.normalize?.(config as never) ?? config) as JsonObject;
}
