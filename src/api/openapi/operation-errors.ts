import type { ErrorCode } from '../../lib/errors.ts';
import type { Operation } from '../../resources/operation.ts';
import { takesBody } from '../request-body.ts';
import type { Subject } from './subjects.ts';

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
