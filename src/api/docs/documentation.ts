import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Operation } from '../../resources/operation.ts';
import { docsPage } from '../docs-page.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { type OpenApiOptions, openApiDocument } from '../openapi.ts';

const compressed = promisify(gzip);

/** The pages about the API. They are built at the first request: few servers get one, and startup need not wait. */
export class Documentation {
  readonly #operations: readonly Operation[];
  readonly #options: OpenApiOptions;
  #document: Promise<OpenApiDocument> | undefined;
  #openApiJson: Promise<string> | undefined;
  #openApiGzip: Promise<Buffer> | undefined;
  #docsHtml: Promise<string> | undefined;

  constructor(operations: readonly Operation[], options: OpenApiOptions) {
    this.#operations = operations;
    this.#options = options;
  }

  get openApiJson(): Promise<string> {
    this.#openApiJson ??= this.#made().then((document) => `${JSON.stringify(document, null, 2)}\n`);
    return this.#openApiJson;
  }

  /** The console loads it with every page load: 900 KB become 55. */
  get openApiGzip(): Promise<Buffer> {
    this.#openApiGzip ??= this.openApiJson.then((text) => compressed(text));
    return this.#openApiGzip;
  }

  get docsHtml(): Promise<string> {
    this.#docsHtml ??= this.#made().then((document) => docsPage(document));
    return this.#docsHtml;
  }

  /** Building and serializing it take 30 ms each: other requests are served in between. */
  #made(): Promise<OpenApiDocument> {
    this.#document ??= Promise.resolve(openApiDocument(this.#operations, this.#options));
    return this.#document.then(async (document) => {
      await new Promise((resolve) => setImmediate(resolve));
      return document;
    });
  }
}
