import type { OperationRequest, OperationResult } from '../resources/operation.ts';
import type { IdempotencyRecord, Store } from '../store/store.ts';
import { documentErrors } from './errors.ts';

/** Thrown by a commit whose Idempotency-Key another process has already written. */
export class IdempotencyUsed extends Error {
  readonly existing: IdempotencyRecord;

  constructor(existing: IdempotencyRecord) {
    super('the Idempotency-Key was used before');
    this.existing = existing;
  }
}

type Idempotency = NonNullable<OperationRequest['idempotency']>;

/**
 * Executes a create once per Idempotency-Key. The key is written in the create's own transaction. A repeat is answered
 * from the resource's current state, so no response, and no secret in one, is ever stored.
 */
export class IdempotentCreates {
  readonly #store: Pick<Store, 'findIdempotency'>;
  readonly #inFlight = new Set<string>();

  constructor(store: Pick<Store, 'findIdempotency'>) {
    this.#store = store;
  }

  async run(
    idempotency: OperationRequest['idempotency'],
    create: () => Promise<OperationResult>,
    /** The response for the resource that the first request created; null when it cannot be repeated. */
    replay: (id: string) => Promise<OperationResult | null>,
  ): Promise<OperationResult> {
    if (idempotency === null) return create();
    if (this.#inFlight.has(idempotency.scope)) {
      throw documentErrors.create(
        'ERR_POSTERN_IDEMPOTENCY_IN_FLIGHT',
        'the first request with this Idempotency-Key is still in progress: wait for its response',
        { headers: { 'retry-after': '1' } },
      );
    }
    this.#inFlight.add(idempotency.scope);
    try {
      const existing = await this.#store.findIdempotency(idempotency.scope);
      if (existing !== null) return await this.#replay(existing, idempotency, replay);
      return await create();
    } catch (error) {
      if (error instanceof IdempotencyUsed) return await this.#replay(error.existing, idempotency, replay);
      throw error;
    } finally {
      this.#inFlight.delete(idempotency.scope);
    }
  }

  async #replay(
    existing: IdempotencyRecord,
    idempotency: Idempotency,
    replay: (id: string) => Promise<OperationResult | null>,
  ): Promise<OperationResult> {
    if (existing.bodyHash !== idempotency.bodyHash) {
      throw documentErrors.create(
        'ERR_POSTERN_IDEMPOTENCY_MISMATCH',
        'this Idempotency-Key was used with another body: use a new key for a new request',
        { details: { id: existing.id } },
      );
    }
    const answer = await replay(existing.id);
    if (answer !== null) return answer;
    throw documentErrors.create(
      'ERR_POSTERN_IDEMPOTENCY_REPLAY',
      `the request with this Idempotency-Key already created ${existing.id}, and its response cannot be repeated: it contained a secret, or the resource was deleted`,
      { details: { id: existing.id } },
    );
  }
}
