import type { TSchema } from 'typebox';

export const REFERENCE_KEYWORD = 'x-reference';

export interface ReferenceAnnotation {
  /** Kinds of records that the id may refer to. */
  readonly kinds: readonly string[];
  /** Name of the field in responses, where it is a Ref (or a list of Refs); absent: ids read back as ids. */
  readonly readAs?: string;
  /** The ids are the keys of a map. */
  readonly inKeys?: true;
}

/** In a file without imports: commands that only read schemas start faster without the schema library. */
export function referenceAnnotation(schema: TSchema): ReferenceAnnotation | undefined {
  return (schema as Record<string, unknown>)[REFERENCE_KEYWORD] as ReferenceAnnotation | undefined;
}
