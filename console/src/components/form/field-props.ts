import type { JsonSchema } from '../../schema/json-schema.ts';

export interface FieldProps {
  readonly name: string;
  /** JSON pointer; also the id of the input. */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  readonly value: unknown;
  /** undefined: the field is not sent. */
  readonly onChange: (value: unknown) => void;
}
