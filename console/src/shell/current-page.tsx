import type { ComponentChildren } from 'preact';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorNotice } from '../components/notice.tsx';
import { PageHead } from '../components/page-head.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { PAGES } from '../pages/registry.tsx';
import { href, path } from '../router/location.ts';
import { matchPath } from '../router/match.ts';
import { apiDocument, apiDocumentError, loadApiDocument } from '../schema/openapi-document.ts';
import { pageRound } from './page-round.ts';

/** Pages wait for the API's description: forms, links and what is offered follow from it. */
export function CurrentPage() {
  if (apiDocumentError.value !== null) {
    return <ErrorNotice error={apiDocumentError.value} retry={() => void loadApiDocument()} />;
  }
  if (apiDocument.value === null) return <Skeleton lines={8} />;
  return <div class="page">{pageAt(path.value)}</div>;
}

function pageAt(current: string): ComponentChildren {
  for (const [pattern, Page] of PAGES) {
    const params = matchPath(pattern, current);
    // The key gives each document a page of its own: no state of the former one is left.
    if (params !== null) return <Page key={`${current} ${pageRound.value}`} params={params} />;
  }
  return (
    <>
      <PageHead title="Page not found" />
      <EmptyState title="There is no page at this address">
        <p>
          Go to the <a href={href('/')}>overview</a>, or search.
        </p>
      </EmptyState>
    </>
  );
}
