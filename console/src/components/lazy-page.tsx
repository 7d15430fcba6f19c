import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { asApiError } from '../api/api-error.ts';
import type { PageProps } from '../pages/page-props.ts';
import { ErrorNotice } from './notice.tsx';
import { Skeleton } from './skeleton.tsx';

/** A page whose code is loaded when somebody opens it: the first load of the console stays small. */
export function lazyPage(load: () => Promise<ComponentType<PageProps>>): ComponentType<PageProps> {
  let loaded: ComponentType<PageProps> | null = null;
  return function LazyPage(props: PageProps) {
    const [Page, setPage] = useState<ComponentType<PageProps> | null>(() => loaded);
    const [error, setError] = useState<unknown>(null);
    useEffect(() => {
      if (Page !== null) return;
      load().then((found) => {
        loaded = found;
        setPage(() => found);
      }, setError);
    }, []);
    if (error !== null) return <ErrorNotice error={asApiError(error)} retry={() => location.reload()} />;
    return Page === null ? <Skeleton lines={8} /> : <Page {...props} />;
  };
}
