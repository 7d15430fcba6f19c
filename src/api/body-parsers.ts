import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import { API_LANE } from '../documents/api-lane.ts';
import { PosternError } from '../lib/errors.ts';
import { parseJsonInSlices } from '../lib/text/json-in-slices/parse-json.ts';
import { DoubledNameError, exceededLimit, refuseDoubledNames } from '../lib/text/json-shape.ts';
import type { Operation } from '../resources/operation.ts';
import { contentTypeError } from './error-response.ts';
import { LARGE_BODY_BYTES, type LargeBody } from './large-bodies.ts';
import { decodeText, invalidJson, takesBody, tooMuchJson } from './request-body.ts';

/**
 * Parsing and checking take up to 2 µs per value, on the event loop. The access rules of a route with a hundred lists of
 * a hundred addresses have half as many.
 */
const LIMITS = { maxValues: 20_000, maxDepth: 64 };

/** JSON where an operation takes a body; anything where it does not (existing clients send bare ids to actions). */
export function addBodyParsers(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  /** The parser calls back before it returns. */
  const parsePart = (text: string): unknown => {
    let parsed: unknown;
    void parseJson(undefined as never, text, (error: Error | null, value?: unknown) => {
      if (error !== null && error !== undefined) throw error;
      parsed = value;
    });
    refuseDoubledNames(text, parsed);
    return parsed;
  };
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (!isBodyWanted(request) || bytes.length === 0) {
      done(null, undefined);
      return;
    }
    const { largeBody } = request.postern;
    if (largeBody !== null && bytes.length > LARGE_BODY_BYTES) {
      void parseLargeBody(bytes as Buffer, largeBody, done);
      return;
    }
    const exceeded = exceededLimit(bytes as Buffer, LIMITS);
    if (exceeded !== null) {
      // Bodies of changesets are checked in slices, and may have more.
      if (operationOf(request)?.body?.maxBytes !== undefined) void parseInSlices(bytes as Buffer, done);
      else done(tooMuchJson(exceeded, LIMITS[exceeded]) as Error);
      return;
    }
    let text: string;
    try {
      text = decodeText(bytes as Buffer);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (text.trim() === '') {
      done(null, undefined);
      return;
    }
    // Also rejects "__proto__" and "constructor.prototype" keys: they name no field and must not reach an object.
    let value: unknown;
    try {
      value = parsePart(text);
    } catch (error) {
      done(invalidJson(error instanceof DoubledNameError ? error : undefined));
      return;
    }
    done(null, value);
  });

  async function parseLargeBody(
    bytes: Buffer,
    body: LargeBody,
    done: (error: Error | null, value?: unknown) => void,
  ): Promise<void> {
    try {
      await body.turn();
    } catch (error) {
      done(error as Error);
      return;
    }
    await parseInSlices(bytes, done);
  }

  async function parseInSlices(bytes: Buffer, done: (error: Error | null, value?: unknown) => void): Promise<void> {
    let value: unknown;
    try {
      value = await parseJsonInSlices(API_LANE, bytes, parsePart);
    } catch (cause) {
      done(cause instanceof PosternError ? cause : invalidJson(cause));
      return;
    }
    done(null, value);
  }
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) => {
    const isRefused = isBodyWanted(request) && bytes.length > 0;
    done(isRefused ? contentTypeError() : null, undefined);
  });
}

/**
 * Where no body is expected the content type is ignored: Fastify would reject a malformed one before calling any
 * parser.
 */
export const ignoreContentType: onRequestHookHandler = (request, _reply, next) => {
  if (request.raw.headers['content-type'] !== undefined) delete request.raw.headers['content-type'];
  next();
};

function isBodyWanted(request: FastifyRequest): boolean {
  const operation = operationOf(request);
  // Routes beside the operations.
  const { takesBody: isTaken } = request.routeOptions.config as { readonly takesBody?: boolean };
  return isTaken === true || (operation !== undefined && takesBody(operation));
}

function operationOf(request: FastifyRequest): Operation | undefined {
  return (request.routeOptions.config as { readonly operation?: Operation }).operation;
}
