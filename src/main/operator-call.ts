import { randomUUID } from 'node:crypto';
import { OPERATOR_REQUEST } from '../bootstrap/bootstrap-port.ts';
import type { OperationPorts } from '../documents/operations.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Operation, OperationResult } from '../resources/operation.ts';

export interface OperatorRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
}

/** Text of the answer; rejects with the error of the operation. */
export type OperatorCall = (request: OperatorRequest) => Promise<string>;

/** The server as a caller of its own API, without a connection and a key. Only paths without ids. */
export function operatorCall(operations: readonly Operation<OperationPorts>[], ports: OperationPorts): OperatorCall {
  return async ({ method, path, body = {} }) => {
    const [address = '', query = ''] = path.split('?');
    const operation = operations.find((each) => each.method === method && each.path === address);
    if (operation === undefined) throw new Error(`there is no operation ${method} ${address}`);
    const result = await operation.run(
      {
        ...OPERATOR_REQUEST,
        operationId: `op_${randomUUID()}`,
        query: Object.fromEntries(new URLSearchParams(query)),
        body: body as JsonObject,
      },
      ports,
    );
    return textOf(result);
  };
}

async function textOf({ text, parts, body }: OperationResult): Promise<string> {
  if (parts === undefined) return text ?? JSON.stringify(body);
  let whole = '';
  for await (const part of parts) whole += part;
  return whole;
}
