import Type, { type TProperties } from 'typebox';

const MATCH_TYPES = ['exact_path', 'path_prefix', 'regex'] as const;
const MAX_RULES = 50;
const MAX_LENGTH = 1_024;

/** A rule as it is stored. */
export interface PathRule {
  readonly match_type: (typeof MATCH_TYPES)[number];
  readonly match: string;
  readonly to: string;
}

/** The first of the rules, which all read paths; null: there is none. */
export function firstRule([first]: readonly PathRule[]): string | null {
  return first === undefined ? null : `rules[0] ${first.match_type} ${first.match}`;
}

/** The rules of a module; `destination` describes `to`. */
export function rulesField<Fields extends TProperties>(what: string, destination: string, fields: Fields) {
  const properties = {
    match_type: Type.Enum([...MATCH_TYPES], {
      description:
        'How "match" is compared with the path: exact_path with the whole path, path_prefix with its start, regex as a regular expression in the syntax of RE2.',
    }),
    match: Type.String({
      minLength: 1,
      maxLength: MAX_LENGTH,
      description: 'A path such as "/old/", or a regular expression such as "^/users/([0-9]+)$".',
    }),
    to: Type.String({
      minLength: 1,
      maxLength: MAX_LENGTH,
      description: `${destination} What follows a prefix is kept. "$1" stands for the first group of a regular expression, and "$$" for a dollar sign. The query of the request is kept unless "to" has one.`,
    }),
    ...fields,
  };
  return Type.Array(Type.Object(properties, { additionalProperties: false }), {
    minItems: 1,
    maxItems: MAX_RULES,
    description: `${what}: 1 to ${MAX_RULES}. The first rule that matches decides.`,
  });
}
