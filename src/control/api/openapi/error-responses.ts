import type { ErrorCode, ErrorRow, ErrorRows } from '../../../kit/errors.ts';
import { STATUS_CODES } from '../../../kit/http/node-http.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { Operation } from '../../resources/operation.ts';
import { takesBody } from '../request-parts.ts';
import { type Components, JSON_TYPE, type Reference, type ResponseObject } from './document.ts';
import { headerRef } from './headers.ts';
import type { Subject } from './subjects.ts';

/**
 * Errors of the layers around an operation, such as a wrong key or a server that starts, and those of nearly all
 * writes. An operation lists a status only if it has other errors with it: these share the response `default`.
 */
const COMMON_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'ERR_POSTERN_UNAUTHENTICATED',
  'ERR_POSTERN_FORBIDDEN',
  'ERR_POSTERN_NOT_FOUND',
  'ERR_POSTERN_BAD_REQUEST',
  'ERR_POSTERN_VERSION',
  'ERR_POSTERN_INVALID_QUERY',
  'ERR_POSTERN_INVALID_HEADER',
  'ERR_POSTERN_INVALID_JSON',
  'ERR_POSTERN_INVALID_BODY',
  'ERR_POSTERN_UNKNOWN_REFERENCE',
  'ERR_POSTERN_CHANGE_PENDING',
  'ERR_POSTERN_PRECONDITION_FAILED',
  'ERR_POSTERN_IDEMPOTENCY_MISMATCH',
  'ERR_POSTERN_TOO_MANY_CONFLICTS',
  'ERR_POSTERN_BODY_TOO_LARGE',
  'ERR_POSTERN_CONTENT_TYPE',
  'ERR_POSTERN_RATE_LIMITED',
  'ERR_POSTERN_INTERNAL',
  'ERR_POSTERN_STARTING',
  'ERR_POSTERN_REVOCATIONS_UNKNOWN',
  'ERR_POSTERN_STORE_UNAVAILABLE',
  'ERR_POSTERN_STORE_FULL',
  'ERR_POSTERN_STORE_READ_ONLY',
  'ERR_POSTERN_STORE_CORRUPT',
  'ERR_POSTERN_STORE_GONE',
  'ERR_POSTERN_STORE_WENT_BACK',
]);

/** No operation exists at the path, or the request could not be read. */
export const OUTSIDE_OPERATIONS: readonly ErrorCode[] = [
  'ERR_POSTERN_UNKNOWN_PATH',
  'ERR_POSTERN_METHOD_NOT_ALLOWED',
  'ERR_POSTERN_API_REQUEST_TIMEOUT',
  'ERR_POSTERN_EXPECTATION',
  'ERR_POSTERN_API_HEADERS_TOO_LARGE',
];

/** The name of the response `default` of operations. */
export const COMMON_RESPONSE = 'Error';

/** Additional headers of some errors, by status. */
const EXTRA_HEADERS: Readonly<Record<string, string>> = {
  401: 'WWW-Authenticate',
  429: 'Retry-After',
  503: 'Retry-After',
};

/** Existing clients need `msg`, `status_code` and an object `details` in every error. */
const errorSchema: JsonObject = {
  type: 'object',
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
 * Error responses as components. Equal sets of codes share one response: a single code gives it its name, such as
 * IdempotencyMismatch; a larger set takes the name of the first operation that has it, such as HttpsEdgesCreate409.
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
    const own = [...byStatus].filter(([, same]) => same.some((code) => !COMMON_ERRORS.has(code)));
    const sorted = own.sort(([a], [b]) => a - b);
    return {
      ...Object.fromEntries(
        sorted.map(([status, same]) => [status, responseRef(this.#nameFor(operationId, status, same))]),
      ),
      ...(own.length < byStatus.size && { default: responseRef(COMMON_RESPONSE) }),
    };
  }

  responses(): Components['responses'] {
    return {
      ...Object.fromEntries(this.#named),
      [COMMON_RESPONSE]: errorResponse(null, [...COMMON_ERRORS], this.#rows),
    };
  }

  /** What each code means is said once, at the object that has it. */
  schema(): JsonObject {
    const named = [...this.#nameByCodes.keys()].flatMap((key) => key.split(' ') as ErrorCode[]);
    const codes = [...new Set([...named, ...COMMON_ERRORS, ...OUTSIDE_OPERATIONS])].sort();
    const lines = codes.map((code) => {
      const { status, explanation } = rowOf(code, this.#rows);
      return `- \`${code}\` (${status}): ${firstSentence(explanation)}`;
    });
    const description = `An error. What its codes mean (\`msg\` says what to do):\n${lines.join('\n')}`;
    return { ...errorSchema, description };
  }

  #nameFor(operationId: string, status: number, codes: readonly ErrorCode[]): string {
    const key = codes.join(' ');
    const known = this.#nameByCodes.get(key);
    if (known !== undefined) return known;
    const name =
      codes.length === 1 ? nameOf(key.replace(/^ERR_POSTERN_/, '').toLowerCase()) : `${nameOf(operationId)}${status}`;
    this.#nameByCodes.set(key, name);
    this.#named.set(name, errorResponse(status, codes, this.#rows));
    return name;
  }
}

/** `status` is null where the codes have several. */
function errorResponse(status: number | null, codes: readonly ErrorCode[], rows: ErrorRows): ResponseObject {
  const statuses = status === null ? codes.map((code) => rowOf(code, rows).status) : [status];
  const extra = new Set(statuses.flatMap((each) => EXTRA_HEADERS[each] ?? []));
  return {
    description:
      status === null
        ? 'Errors that every operation can return: a key that is missing or lacks a right, a body that cannot be read, too many requests, a server that starts or has failed.'
        : `${STATUS_CODES[status] ?? 'Error'}.`,
    ...(extra.size > 0 && { headers: Object.assign({}, ...[...extra].map(headerRef)) }),
    content: {
      [JSON_TYPE]: {
        schema: {
          $ref: '#/components/schemas/Error',
          properties: { error_code: { type: 'string', enum: codes } },
        },
      },
    },
  };
}

function nameOf(words: string): string {
  return words.replaceAll(/(?:^|[._])([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

function firstSentence(text: string): string {
  return /^.*?\.(?= [A-Z]|$)/s.exec(text)?.[0] ?? text;
}

function responseRef(name: string): Reference {
  return { $ref: `#/components/responses/${name}` };
}

function rowOf(code: ErrorCode, rows: ErrorRows): ErrorRow {
  const row = rows[code];
  if (row === undefined) throw new Error(`${code} is in no error table`);
  return row;
}

/**
 * Every error that an operation can return: its own, and those of the layers around it, which its definition does not
 * repeat.
 */
export function errorsOf(operation: Operation, subject: Subject): readonly ErrorCode[] {
  return [
    ...new Set<ErrorCode>([
      'ERR_POSTERN_UNAUTHENTICATED',
      'ERR_POSTERN_BAD_REQUEST',
      'ERR_POSTERN_VERSION',
      'ERR_POSTERN_FORBIDDEN',
      'ERR_POSTERN_RATE_LIMITED',
      'ERR_POSTERN_INVALID_QUERY',
      ...(operation.path.includes('{') ? (['ERR_POSTERN_NOT_FOUND'] as const) : []),
      ...bodyErrors(operation),
      ...headerErrors(operation),
      ...operation.errors,
      ...constraintErrors(operation, subject),
      ...writeErrors(operation),
      'ERR_POSTERN_INTERNAL',
      'ERR_POSTERN_STARTING',
      'ERR_POSTERN_REVOCATIONS_UNKNOWN',
      'ERR_POSTERN_STORE_UNAVAILABLE',
      'ERR_POSTERN_STORE_CORRUPT',
      'ERR_POSTERN_STORE_GONE',
      'ERR_POSTERN_STORE_WENT_BACK',
    ]),
  ];
}

/** Documents that an action changes may wait for a confirmation, or be changed by others all the time. */
function writeErrors({ method }: Operation): readonly ErrorCode[] {
  if (method === 'GET') return [];
  return [
    'ERR_POSTERN_CHANGE_PENDING',
    'ERR_POSTERN_TOO_MANY_CONFLICTS',
    'ERR_POSTERN_STORE_FULL',
    'ERR_POSTERN_STORE_READ_ONLY',
  ];
}

function bodyErrors(operation: Operation): readonly ErrorCode[] {
  if (operation.body === undefined) return [];
  const transport: readonly ErrorCode[] = [
    'ERR_POSTERN_BODY_TOO_LARGE',
    ...(operation.body.maxBytes === undefined ? [] : (['ERR_POSTERN_TOO_MANY_LARGE_BODIES'] as const)),
  ];
  if (!takesBody(operation)) return transport;
  return [...transport, 'ERR_POSTERN_CONTENT_TYPE', 'ERR_POSTERN_INVALID_JSON', 'ERR_POSTERN_INVALID_BODY'];
}

function headerErrors(operation: Operation): readonly ErrorCode[] {
  const conditional: readonly ErrorCode[] =
    operation.isConditional === true ? ['ERR_POSTERN_PRECONDITION_FAILED', 'ERR_POSTERN_TOO_MANY_CONFLICTS'] : [];
  // A POST that takes no Idempotency-Key refuses it.
  const hasHeader =
    operation.isConditional === true || operation.method === 'POST' || operation.isIdempotentByKey === true;
  return hasHeader ? ['ERR_POSTERN_INVALID_HEADER', ...conditional] : [];
}

/** Errors of constraints that the store enforces for the resource. */
function constraintErrors(operation: Operation, { resource, isModule }: Subject): readonly ErrorCode[] {
  if (operation.method === 'GET' || isModule || resource.type === 'live') return [];
  const isLastKeyAtRisk = resource.keepAtLeastOne !== undefined && operation.verb !== 'create';
  return [
    ...(resource.isAcyclic === true && operation.body !== undefined ? (['ERR_POSTERN_REFERENCE_CYCLE'] as const) : []),
    ...(isLastKeyAtRisk ? (['ERR_POSTERN_LAST_API_KEY'] as const) : []),
  ];
}
