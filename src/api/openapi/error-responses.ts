import type { ErrorCode, ErrorRow, ErrorRows } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type Components, JSON_TYPE, type Reference, type ResponseObject } from './document.ts';
import { headerRef } from './headers.ts';
import { SAMPLE_OPERATION_ID } from './sample-ids.ts';

/** Additional headers of some errors, by status. */
const EXTRA_HEADERS: Readonly<Record<string, string>> = {
  401: 'WWW-Authenticate',
  405: 'Allow',
  429: 'Retry-After',
  503: 'Retry-After',
};

/** Existing clients need `msg`, `status_code` and an object `details` in every error. */
export const errorSchema: JsonObject = {
  type: 'object',
  description: 'An error.',
  required: ['error_code', 'status_code', 'msg', 'details'],
  properties: {
    error_code: {
      type: 'string',
      pattern: '^ERR_POSTERN_[A-Z_]+$',
      description: 'Stable error code for programs.',
    },
    status_code: { type: 'integer', description: 'HTTP status of the response.' },
    msg: { type: 'string', description: 'Message for people: what went wrong and what to do.' },
    details: {
      type: 'object',
      required: ['operation_id'],
      properties: {
        operation_id: {
          type: 'string',
          description: 'Id of the request. It is also in the Postern-Operation-Id header and in the log.',
        },
      },
      additionalProperties: { type: 'string' },
      description: 'Details of the error, such as the JSON path of a field.',
    },
  },
};

/**
 * Error responses as components. Equal sets of codes share one response: a single code gives it its name, a larger set
 * takes the name of the first operation that has it.
 */
export class ErrorResponses {
  readonly #rows: ErrorRows;
  readonly #named = new Map<string, ResponseObject>();
  readonly #nameByCodes = new Map<string, string>();

  constructor(rows: ErrorRows) {
    this.#rows = rows;
  }

  /** References by status. */
  of(operationId: string, codes: readonly ErrorCode[]): Readonly<Record<string, Reference>> {
    const byStatus = Map.groupBy(codes, (code) => rowOf(code, this.#rows).status);
    const sorted = [...byStatus].sort(([a], [b]) => a - b);
    return Object.fromEntries(
      sorted.map(([status, same]) => [
        status,
        { $ref: `#/components/responses/${this.#nameFor(operationId, status, same)}` },
      ]),
    );
  }

  toJson(): Pick<Components, 'responses' | 'examples'> {
    const codes = [...this.#nameByCodes.keys()].flatMap((key) => key.split(' ') as ErrorCode[]);
    return {
      responses: Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1))),
      examples: Object.fromEntries([...new Set(codes)].sort().map((code) => [code, errorExample(code, this.#rows)])),
    };
  }

  #nameFor(operationId: string, status: number, codes: readonly ErrorCode[]): string {
    const key = codes.join(' ');
    const known = this.#nameByCodes.get(key);
    if (known !== undefined) return known;
    const name = codes.length === 1 ? key : `${operationId}.${status}`;
    this.#nameByCodes.set(key, name);
    this.#named.set(name, errorResponse(status, codes, this.#rows));
    return name;
  }
}

function errorExample(code: ErrorCode, rows: ErrorRows): Components['examples'][string] {
  const { status, explanation } = rowOf(code, rows);
  const details = { operation_id: SAMPLE_OPERATION_ID };
  return { summary: explanation, value: { error_code: code, status_code: status, msg: explanation, details } };
}

function errorResponse(status: number, codes: readonly ErrorCode[], rows: ErrorRows): ResponseObject {
  const extra = EXTRA_HEADERS[status];
  return {
    description: codes.map((code) => `- \`${code}\`: ${rowOf(code, rows).explanation}`).join('\n'),
    headers: { ...headerRef('Postern-Operation-Id'), ...(extra !== undefined && headerRef(extra)) },
    content: {
      [JSON_TYPE]: {
        schema: {
          $ref: '#/components/schemas/Error',
          properties: { error_code: { type: 'string', enum: codes }, status_code: { type: 'integer', const: status } },
        },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

function rowOf(code: ErrorCode, rows: ErrorRows): ErrorRow {
  const row = rows[code];
  if (row === undefined) throw new Error(`${code} is in no error table`);
  return row;
}
