import type { DocumentReader } from './document-reader.ts';
import { type Html, html } from './html.ts';

/** Resources and modules with their operations. Collapsible without script. */
export function pageNavigation(reader: DocumentReader): Html {
  return html`<nav id="contents" aria-label="Contents"><p class="brand"><a href="#top">Postern</a> <span class="version">${reader.document.info['version'] as string}</span></p>
<ul>${reader.document.tags.map((tag) => {
    const operations = reader.operationsOf(tag.name);
    // A module's tag is its resource's tag, a dot and its own name.
    return html`<li ${tag.name.includes('.') && html`class="module"`}><details name="contents"><summary>${tag['x-displayName']}</summary><ul>
<li><a href="#${tag.name}">Overview</a></li>${operations.map(
      ({ method, operation }) =>
        html`<li><a href="#${operation.operationId}"><span class="method ${method}">${method.toUpperCase()}</span> ${operation.operationId.split('.').at(-1)}</a></li>`,
    )}</ul></details></li>`;
  })}
<li class="plain"><a href="#shared-objects">Shared objects</a></li>
<li class="plain"><a href="#errors">Errors</a></li>
</ul></nav>`;
}
