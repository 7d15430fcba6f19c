// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Change {
  /** Revision of the change, as in Postern-Revision. */
  readonly revision: number;
  /** When it was made. */
  readonly at: string;
  /** Who made the change. */
  readonly author: {
    /**
     * "api_key", "person" for somebody in the console, "local" for a command on the machine of a node without a key,
     * or "server" for what the server did itself.
     */
    readonly kind: string;
    /**
     * Id of the API key, name of the person, or local:NODE for a command on the machine of that node; empty for the
     * server. A name that is not a verified email address starts with "unverified" or "subject".
     */
    readonly id: string;
    /** Description of the API key now, or the name of the person; empty for the server. */
    readonly name: string;
    /** OpenID issuer of the person; only for people. */
    readonly issuer?: string | null | undefined;
    /** Subject of the person at the issuer, which nobody can choose; only for people. */
    readonly subject?: string | undefined;
    /** IP address of the client. */
    readonly address: string | null;
    /** Id of the request, as in the log. */
    readonly operation_id: string;
    /** "api", "changeset", "apply", "undo", "confirm" or "revert". */
    readonly via: string;
  };
  /** Message of the author; empty if there was none. */
  readonly message: string;
  /** Whether the entry is linked to the one before it, which takes a moment. */
  readonly is_linked: boolean;
  /** Number of changed documents. */
  readonly count: number;
  /** Until when the change must be confirmed, or it is reverted; null if it does not wait for that. */
  readonly confirm_by: string | null;
  /**
   * Why there is nothing to undo now: the documents are as before the change, or deleted ones do not come back.
   * Null: there is something.
   */
  readonly cannot_undo: string | null;
  /** The changed documents. */
  readonly objects: readonly {
    /** Kind of the resource. */
    readonly kind: string;
    /** Module of the resource, if the document is one. */
    readonly module?: string | undefined;
    /** Id of the resource. */
    readonly id: string;
    /**
     * What people call it, such as the hosts of an edge: as it is now, or as it was before it was deleted. Empty if
     * it has no name.
     */
    readonly name: string;
    /** What happened to it. */
    readonly change: 'created' | 'updated' | 'deleted';
    /** The document before the change, with secrets masked; null if it did not exist. */
    readonly before: Readonly<Record<string, unknown>> | null;
    /** The document after the change, with secrets masked; null if it did not exist. */
    readonly after: Readonly<Record<string, unknown>> | null;
    /** JSON pointers to the secrets of the document that the change replaced, set or removed. */
    readonly changed_secrets: readonly string[];
  }[];
}

export interface ChangePage {
  /** The changes. */
  readonly changes: readonly {
    /** Revision of the change, as in Postern-Revision. */
    readonly revision: number;
    /** When it was made. */
    readonly at: string;
    /** Who made the change. */
    readonly author: {
      /**
       * "api_key", "person" for somebody in the console, "local" for a command on the machine of a node without a key,
       * or "server" for what the server did itself.
       */
      readonly kind: string;
      /**
       * Id of the API key, name of the person, or local:NODE for a command on the machine of that node; empty for the
       * server. A name that is not a verified email address starts with "unverified" or "subject".
       */
      readonly id: string;
      /** Description of the API key now, or the name of the person; empty for the server. */
      readonly name: string;
      /** OpenID issuer of the person; only for people. */
      readonly issuer?: string | null | undefined;
      /** Subject of the person at the issuer, which nobody can choose; only for people. */
      readonly subject?: string | undefined;
      /** IP address of the client. */
      readonly address: string | null;
      /** Id of the request, as in the log. */
      readonly operation_id: string;
      /** "api", "changeset", "apply", "undo", "confirm" or "revert". */
      readonly via: string;
    };
    /** Message of the author; empty if there was none. */
    readonly message: string;
    /** Whether the entry is linked to the one before it, which takes a moment. */
    readonly is_linked: boolean;
    /** Number of changed documents. */
    readonly count: number;
    /** Until when the change must be confirmed, or it is reverted; null if it does not wait for that. */
    readonly confirm_by: string | null;
    /** The first hundred changed documents. */
    readonly objects: readonly {
      /** Kind of the resource. */
      readonly kind: string;
      /** Module of the resource, if the document is one. */
      readonly module?: string | undefined;
      /** Id of the resource. */
      readonly id: string;
      /**
       * What people call it, such as the hosts of an edge: as it is now, or as it was before it was deleted. Empty if
       * it has no name.
       */
      readonly name: string;
      /** What happened to it. */
      readonly change: 'created' | 'updated' | 'deleted';
    }[];
  }[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last one. */
  readonly next_page_uri: string | null;
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

export interface ChangeQuery extends PageQuery {
  /** Only changes before this revision. */
  readonly before_revision?: number | undefined;
  /** Only changes at or after this time. */
  readonly since?: string | undefined;
  /** Only changes before this time. */
  readonly until?: string | undefined;
  /** Only changes by this API key. An id: "ak_" and 27 letters and digits. */
  readonly author_id?: string | undefined;
  /** Only changes of this resource or its modules. */
  readonly object_id?: string | undefined;
}

export interface ChangeVerifyAnswer {
  /** Whether every link is right. */
  readonly intact: boolean;
  /** Number of entries whose link is right. */
  readonly checked: number;
  /** Number of newest entries that are not linked yet. */
  readonly unlinked: number;
  /** Revision of the first entry that was changed, or that follows a removed one; null if there is none. */
  readonly first_broken: number | null;
}

export interface ChangeUndoAnswer {
  /** Revision of the new change. */
  readonly revision: number;
  /** Revision that was undone. */
  readonly undoes: number;
  /** Documents that do not come back. */
  readonly skipped: readonly {
    /** Kind of the record. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
  }[];
}

export interface ChangeUndo {
  /** Restores documents that were changed again later, too. */
  readonly force?: boolean | undefined;
  /** Message for the history. */
  readonly message?: string | undefined;
}

export interface ChangeConfirmAnswer {
  /** Revision of the confirmation. */
  readonly revision: number;
  /** Revision that stays. */
  readonly confirms: number;
}

export interface ChangeConfirm {
  /** Message for the history. */
  readonly message?: string | undefined;
}

export interface ChangeRevertAnswer {
  /** Revision of the new change. */
  readonly revision: number;
  /** Revision that was reverted. */
  readonly reverts: number;
  /** Documents that do not come back. */
  readonly skipped: readonly {
    /** Kind of the record. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
  }[];
}

export interface ChangeRevert {
  /** Message for the history. */
  readonly message?: string | undefined;
}

/** A change of configuration: who made it, when, and every document before and after it. */
export class ChangesClient extends ResourceClient {
  /** List changes: every one, page after page. */
  list(query?: ChangeQuery, options?: RequestOptions): AsyncGenerator<Change, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/changes', query }, 'changes', options);
  }

  /** List changes: one page. */
  page(query?: ChangeQuery, options?: RequestOptions): Promise<Answer<ChangePage>> {
    return this.call({ method: 'GET', path: '/changes', query }, options);
  }

  /**
   * Get a change. A change with every document before and after it, secrets masked. The key needs the read scope
   * of each.
   */
  get(revision: string, options?: RequestOptions): Promise<Answer<Change>> {
    return this.call({ method: 'GET', path: '/changes/{revision}', params: { revision } }, options);
  }

  /**
   * Verify the history. Checks that every entry is as it was written: each is linked to the one before it by a
   * keyed hash. Takes a while for a long history.
   */
  verify(options?: RequestOptions): Promise<Answer<ChangeVerifyAnswer>> {
    return this.call({ method: 'GET', path: '/changes/verification' }, options);
  }

  /**
   * Undo a change. Makes a new change that restores every document as it was before. Undoing a creation deletes;
   * undoing a deletion brings the same id back. Deleted API keys, credentials, tokens and guest links do not come
   * back. The key needs the write scope of each document.
   */
  undo(revision: string, body: ChangeUndo = {}, options?: RequestOptions): Promise<Answer<ChangeUndoAnswer>> {
    return this.call({ method: 'POST', path: '/changes/{revision}/undo', params: { revision }, body }, options);
  }

  /**
   * Confirm a change. Keeps a change that was applied with `confirm_within`: without this, the server reverts it
   * when the time is over. The key needs the write scope of each document of the change.
   */
  confirm(revision: string, body: ChangeConfirm = {}, options?: RequestOptions): Promise<Answer<ChangeConfirmAnswer>> {
    return this.call({ method: 'POST', path: '/changes/{revision}/confirm', params: { revision }, body }, options);
  }

  /**
   * Revert a change that waits. Takes back a change that was applied with `confirm_within`, before its time is
   * over: so that another change can wait, or its documents can be written. The key needs the write scope of each
   * document of the change.
   */
  revert(revision: string, body: ChangeRevert = {}, options?: RequestOptions): Promise<Answer<ChangeRevertAnswer>> {
    return this.call({ method: 'POST', path: '/changes/{revision}/revert', params: { revision }, body }, options);
  }
}
