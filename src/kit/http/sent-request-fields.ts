import { bodyProblem } from '../schema/decode-body.ts';
import type { FieldProblem } from '../schema/field-problem.ts';

/** Problems of a URL, in the field `url`, that the server sends requests with secret headers to. */
export function sentUrlProblems(text: string, example: string): readonly FieldProblem[] {
  const refuse = (message: string): FieldProblem[] => [bodyProblem('url', message)];
  if (/[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text)) return refuse(`must be an absolute URL, such as "${example}"`);
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuse('must be an https or http URL');
  if (url.username !== '' || url.password !== '')
    return refuse('must not contain a user name or password: use headers, whose values are secret');
  if (url.port === '0') return refuse('must have a port from 1 to 65535, or none');
  return text.includes('#') ? refuse('must not have a fragment') : [];
}

/**
 * Problems of the field `headers`, whose secret values are sent there. `reserved`: `sender` sets them, such as "the
 * delivery".
 */
export function sentHeaderProblems(
  headers: Readonly<Record<string, string>>,
  reserved: RegExp,
  sender: string,
): readonly FieldProblem[] {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/.test(name))
      return [bodyProblem('headers', 'has an invalid header name')];
    if (reserved.test(name)) return [bodyProblem('headers', `must not set "${name}": ${sender} sets it`)];
    if (value.length > 4096 || !/^[\t\x20-\x7e]*$/.test(value)) {
      return [
        bodyProblem('headers', `has a value for "${name}" that is not visible ASCII or longer than 4096 characters`),
      ];
    }
  }
  return [];
}
