import assert from 'node:assert/strict';
import { apiErrors } from '../../src/control/api/errors.ts';
import { documentErrors } from '../../src/control/documents/errors.ts';
import { resourceErrors } from '../../src/control/resources/errors.ts';
import type { Operation } from '../../src/control/resources/operation.ts';
import type { ErrorRow } from '../../src/kit/errors.ts';
import { storeErrors } from '../../src/store/errors.ts';
import { documentedOperations, errorCodesOf, makeDocument } from '../api/openapi-document.ts';
import type { ApiAnswer, TestWorld } from '../support/test-world.ts';

const documented: Readonly<Record<string, ErrorRow>> = {
  ...apiErrors.rows,
  ...documentErrors.rows,
  ...resourceErrors.rows,
  ...storeErrors.rows,
};

/** A frame ends with a place in a file. A time, such as 18:00:00, is none. */
const STACK_OR_LEFTOVER = /\b(?:[cm]?[jt]s|node:[\w/]+|<anonymous>):\d+:\d+|undefined|\[object/;

export interface ExpectedError {
  readonly status: number;
  readonly code?: string;
  /** JSON pointer in details.field. */
  readonly field?: string;
  /** Text required in the message: the field and the remedy. */
  readonly says?: RegExp | string;
}

/** The documented shape and nothing else: existing clients crash on any other. */
export function assertApiError(answer: ApiAnswer, expected: ExpectedError): void {
  const shown = `${answer.status} ${answer.text.slice(0, 600)}`;
  assert.equal(answer.status, expected.status, shown);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  const { body } = answer;
  assert.deepEqual(Object.keys(body).sort(), ['details', 'error_code', 'msg', 'status_code'], shown);
  assert.equal(body.status_code, answer.status);
  assert.equal(documented[body.error_code]?.status, answer.status, `${body.error_code} is documented with its status`);
  assert.ok(body.msg !== '' && body.msg.trim() === body.msg, shown);
  assert.doesNotMatch(body.msg, STACK_OR_LEFTOVER, 'no stack and no leftovers in a message');
  for (const [name, value] of Object.entries(body.details))
    assert.equal(typeof value, 'string', `details.${name} is a string`);
  assert.match(body.details.operation_id, /^op_[0-9A-Za-z]{27}$/);
  assert.equal(body.details.operation_id, answer.headers.get('postern-operation-id'));
  if (expected.code !== undefined) assert.equal(body.error_code, expected.code, shown);
  if (expected.field !== undefined) assert.equal(body.details.field, expected.field, shown);
  if (typeof expected.says === 'string') assert.ok(body.msg.includes(expected.says), `${expected.says} in ${shown}`);
  else if (expected.says !== undefined) assert.match(body.msg, expected.says, shown);
}

const documents = new Map(documentedOperations(makeDocument()).map((operation) => [operation.id, operation]));

/** The code is in the enumeration of the operation's document for this status. */
export function assertDocumentedCode(
  { resource, verb }: Pick<Operation, 'resource' | 'verb'>,
  answer: ApiAnswer,
): void {
  const id = `${resource}.${verb}`;
  const { responses } = documents.get(id) ?? assert.fail(id);
  const response = responses.get(answer.status) ?? responses.get('default') ?? assert.fail(`${id} has no errors`);
  const codes = errorCodesOf(response);
  assert.ok(
    codes.includes(answer.body.error_code),
    `${id} ${answer.status}: ${answer.body.error_code} of ${codes.join(', ')}`,
  );
}

/** A rejection changes nothing: no revision, no event, in memory or in the store. */
export async function assertUnmoved<Result>(world: TestWorld, task: () => Promise<Result>): Promise<Result> {
  const before = await position(world);
  const result = await task();
  assert.deepEqual(await position(world), before, 'the store has not moved');
  return result;
}

export async function assertRefused(
  world: TestWorld,
  request: () => Promise<ApiAnswer>,
  expected: ExpectedError,
): Promise<ApiAnswer> {
  const answer = await assertUnmoved(world, request);
  assertApiError(answer, expected);
  return answer;
}

async function position(world: TestWorld): Promise<object> {
  return {
    replica: world.server.replica.revision,
    store: await world.store.currentRevision(),
    events: await world.store.events.count(),
  };
}
