import Type, { type TObjectOptions, type TRecord, type TSchema } from 'typebox';

/** TypeBox's own pattern is `^.*$`, which leaves names with a line separator, and their values, unchecked. */
export const ANY_NAME = '^[\\s\\S]*$';

/** A map from any text to `value`. */
export function mapOf<Value extends TSchema>(value: Value, options: TObjectOptions): TRecord<string, Value> {
  return Type.Record(Type.String({ pattern: ANY_NAME }), value, options);
}
