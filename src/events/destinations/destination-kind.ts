import type { Static, TObject } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';

/** A kind of event destination: one folder and one line in `registry.ts`. The name is the field inside `target`. */
export interface DestinationKind<Config extends TObject = TObject> {
  readonly name: string;
  readonly description: string;
  readonly config: Config;
  readonly example: JsonObject;
  /** Paths of the problems are relative to the kind's own object. */
  check?(config: Static<Config>): readonly FieldProblem[];
  /** Fields that are made up when the client leaves them out, such as a signing secret. */
  complete?(config: Static<Config>, newSecret: () => string): JsonObject;
}

export function defineDestinationKind<Config extends TObject>(kind: DestinationKind<Config>): DestinationKind {
  return kind as unknown as DestinationKind;
}
