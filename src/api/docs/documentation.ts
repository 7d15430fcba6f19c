import type { Operation } from '../../resources/operation.ts';
import { docsPage } from '../docs-page.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { type OpenApiOptions, openApiDocument } from '../openapi.ts';

/** The pages about the API. They are made when first asked for: few servers are, and the start need not wait for it. */
export class Documentation {
  readonly #operations: readonly Operation[];
  readonly #options: OpenApiOptions;
  #document: OpenApiDocument | undefined;
  #openApiJson: string | undefined;
  #docsHtml: string | undefined;

  constructor(operations: readonly Operation[], options: OpenApiOptions) {
    this.#operations = operations;
    this.#options = options;
  }

  get openApiJson(): string {
    this.#openApiJson ??= `${JSON.stringify(this.#made(), null, 2)}\n`;
    return this.#openApiJson;
  }

  get docsHtml(): string {
    this.#docsHtml ??= docsPage(this.#made());
    return this.#docsHtml;
  }

  #made(): OpenApiDocument {
    this.#document ??= openApiDocument(this.#operations, this.#options);
    return this.#document;
  }
}
