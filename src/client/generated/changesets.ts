// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ChangesetCreated {
  /** Revision of the change; of a dry run, the revision against which it was validated. */
  readonly revision: number;
  /** Whether nothing was stored. */
  readonly dry_run: boolean;
  /** One result per operation. */
  readonly results: readonly {
    /** Status that the operation would have on its own. */
    readonly status: number;
    /** Its response body; null if it has none. A dry run shows no tokens. */
    readonly body: Readonly<Record<string, unknown>> | null;
    /**
     * In a dry run: whether the operation would change something. Absent for a key without the scope secrets:read:
     * it would tell whether a secret was guessed.
     */
    readonly changed?: boolean | undefined;
  }[];
  /** The change that waits for its confirmation; null if there is none. */
  readonly pending: {
    /** Revision of the change. */
    readonly revision: number;
    /** The server reverts the change at this time, unless it is confirmed before. */
    readonly confirm_by: string;
    /** POST to this URI confirms it. */
    readonly confirm_uri: string;
  } | null;
}

export interface ChangesetCreate {
  /** The writes, in order. */
  readonly operations: readonly {
    /** Method of the write. */
    readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
    /**
     * Path of the write. `${N.id}` stands for a field of the result of operation N, counted from 0. N must be an
     * earlier operation.
     */
    readonly path: string;
    /**
     * Body of the write. `{"$ref": N, "field": "id"}` in place of a value stands for a field of the result of
     * operation N, and so does `${N.id}` in place of a name.
     */
    readonly body?: Readonly<Record<string, unknown>> | undefined;
  }[];
  /** Returns 412 if the configuration has another revision by now. */
  readonly expected_revision?: number | undefined;
  /** Message for the history. */
  readonly message?: string | undefined;
  /** Validates everything against the current state and stores nothing. */
  readonly dry_run?: boolean | undefined;
  /**
   * The server reverts the change unless POST /changes/{revision}/confirm arrives within this time, from 1s to
   * 24h. Until then other writes to its documents are rejected, and no other change can wait.
   */
  readonly confirm_within?: string | undefined;
  /**
   * Remembers beside each resource who applies it, in the same revision. GET /changesets/claims returns what an
   * owner has. A deleted resource has no owner.
   */
  readonly owner?:
    | {
        /** Name of the owner, such as "team-web": letters, digits, dots, hyphens and underscores. */
        readonly name: string;
        /** The resources that the owner's files have. */
        readonly claims: readonly {
          /** Id of a resource. `${N.id}` stands for the id that operation N made. */
          readonly id: string;
          /** Its name in the owner's files. */
          readonly name: string;
        }[];
        /** Whether resources of other owners become resources of this one. Default: false. */
        readonly take_over?: boolean | undefined;
      }
    | undefined;
}

export interface ChangesetClaimsAnswer {
  /** The owned resources that the key may read; never paged. */
  readonly claims: readonly {
    /** Name of the owner. */
    readonly owner: string;
    /** Id of the resource. */
    readonly id: string;
    /** Kind of the resource. */
    readonly kind: string;
    /** Its name in the owner's files. */
    readonly name: string;
  }[];
}

export interface ChangesetQuery extends PageQuery {
  /** Only resources of the owner with this name. */
  readonly owner?: string | undefined;
}

/** Several writes that are stored together or not at all. */
export class ChangesetsClient extends ResourceClient {
  /**
   * Apply several writes as one. Runs up to 50000 writes in order and stores all of them or nothing, in one
   * revision: no request through an edge sees a part of them. A failing operation is reported with its own status;
   * details.operation is its number. Each operation needs its own scope. Reads and actions are not allowed.
   */
  create(body: ChangesetCreate, options?: RequestOptions): Promise<Answer<ChangesetCreated>> {
    return this.call({ method: 'POST', path: '/changesets', body }, options);
  }

  /**
   * List what owners have. Returns the resources that the files of an owner had, or of all owners, as changesets
   * stated them.
   */
  claims(query?: ChangesetQuery, options?: RequestOptions): Promise<Answer<ChangesetClaimsAnswer>> {
    return this.call({ method: 'GET', path: '/changesets/claims', query }, options);
  }
}
