import type { JsonSchema } from './json-schema.ts';

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** What the schema says against a text or number while it is typed; null: nothing. The server checks the rest. */
export function textProblem(value: unknown, schema: JsonSchema, isRequired: boolean): string | null {
  if (value === undefined || value === '') return isRequired ? 'It is required.' : null;
  if (typeof value === 'number') return numberProblem(value, schema);
  if (typeof value !== 'string') return null;
  const { minLength, maxLength, pattern, examples } = schema;
  if (maxLength !== undefined && value.length > maxLength)
    return `It has ${value.length} characters, and ${maxLength} are allowed.`;
  if (minLength !== undefined && value.length < minLength) return `It needs at least ${minLength} characters.`;
  if (schema.format === 'email' && !EMAIL.test(value)) return 'Enter an e-mail address, such as ana@example.com.';
  if (pattern !== undefined && !matches(pattern, value)) {
    const [example] = examples ?? [];
    return `It does not have the right form${typeof example === 'string' ? `, such as ${example}` : ''}.`;
  }
  return null;
}

function numberProblem(value: number, { minimum, maximum, type }: JsonSchema): string | null {
  if (Number.isNaN(value)) return 'It is not a number.';
  if (type === 'integer' && !Number.isInteger(value)) return 'It must be a whole number.';
  if (minimum !== undefined && value < minimum) return `It must be at least ${minimum}.`;
  if (maximum !== undefined && value > maximum) return `It must be at most ${maximum}.`;
  return null;
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    // A pattern that this browser does not know: the server checks it.
    return true;
  }
}
