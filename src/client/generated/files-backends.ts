// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface FilesBackend {
  /** Id, starting with "bkdfi_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /**
   * Absolute path of the folder on the server, such as "/srv/www". The setting file_roots must list it or a folder
   * above it. All nodes that serve the site need it.
   */
  readonly folder: string;
  /** Names of the files that are sent for a folder: the first that exists. */
  readonly index_files: readonly string[];
  /**
   * File that is sent, with 200, for every path that has no file, such as "index.html" for an application of one
   * page. Empty: such a path is 404.
   */
  readonly fallback: string;
  /** File that is sent with 404, such as "404.html". Empty: a short page of the server. */
  readonly not_found_page: string;
  /** Show the names in a folder that has no index file. Otherwise it is 404. */
  readonly listing: boolean;
  /**
   * Send text compressed to clients that accept it: a file with ".zst", ".br" or ".gz" beside it, or a form that
   * is made once and kept in memory.
   */
  readonly compression: boolean;
}

export interface FilesBackendCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Absolute path of the folder on the server, such as "/srv/www". The setting file_roots must list it or a folder
   * above it. All nodes that serve the site need it.
   */
  readonly folder: string;
  /** Names of the files that are sent for a folder: the first that exists. */
  readonly index_files?: readonly string[] | undefined;
  /**
   * File that is sent, with 200, for every path that has no file, such as "index.html" for an application of one
   * page. Empty: such a path is 404.
   */
  readonly fallback?: string | undefined;
  /** File that is sent with 404, such as "404.html". Empty: a short page of the server. */
  readonly not_found_page?: string | undefined;
  /** Show the names in a folder that has no index file. Otherwise it is 404. */
  readonly listing?: boolean | undefined;
  /**
   * Send text compressed to clients that accept it: a file with ".zst", ".br" or ".gz" beside it, or a form that
   * is made once and kept in memory.
   */
  readonly compression?: boolean | undefined;
}

export interface FilesBackendPage {
  /** The page, newest first. */
  readonly backends: readonly FilesBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface FilesBackendUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Absolute path of the folder on the server, such as "/srv/www". The setting file_roots must list it or a folder
   * above it. All nodes that serve the site need it.
   */
  readonly folder?: string | undefined;
  /** Names of the files that are sent for a folder: the first that exists. */
  readonly index_files?: readonly string[] | undefined;
  /**
   * File that is sent, with 200, for every path that has no file, such as "index.html" for an application of one
   * page. Empty: such a path is 404.
   */
  readonly fallback?: string | undefined;
  /** File that is sent with 404, such as "404.html". Empty: a short page of the server. */
  readonly not_found_page?: string | undefined;
  /** Show the names in a folder that has no index file. Otherwise it is 404. */
  readonly listing?: boolean | undefined;
  /**
   * Send text compressed to clients that accept it: a file with ".zst", ".br" or ".gz" beside it, or a form that
   * is made once and kept in memory.
   */
  readonly compression?: boolean | undefined;
}

/** Serves the files of a folder on the server. */
export class FilesBackendsClient extends ResourceClient {
  /** Create a files backend. Serves the files of a folder on the server. */
  create(body: FilesBackendCreate, options?: CreateOptions): Promise<Answer<FilesBackend>> {
    return this.call({ method: 'POST', path: '/backends/files', body }, options);
  }

  /** List files backends: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<FilesBackend, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/backends/files', query }, 'backends', options);
  }

  /** List files backends: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<FilesBackendPage>> {
    return this.call({ method: 'GET', path: '/backends/files', query }, options);
  }

  /** Get a files backend. Serves the files of a folder on the server. */
  get(id: string, options?: RequestOptions): Promise<Answer<FilesBackend>> {
    return this.call({ method: 'GET', path: '/backends/files/{id}', params: { id } }, options);
  }

  /**
   * Update a files backend. Changes only the fields in the request; null counts as absent. A module in the request
   * is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: FilesBackendUpdate, options?: WriteOptions): Promise<Answer<FilesBackend>> {
    return this.call({ method: 'PATCH', path: '/backends/files/{id}', params: { id }, body }, options);
  }

  /** Delete a files backend. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/backends/files/{id}', params: { id } }, options);
  }
}
