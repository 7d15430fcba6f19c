import type { ComponentType } from 'preact';
import { lazyPage } from '../components/lazy-page.tsx';
import { BackendsPage } from './backends/backends-page.tsx';
import { EdgePage } from './edges/edge-page.tsx';
import { EdgesPage } from './edges/edges-page.tsx';
import { RoutePage } from './edges/route-page.tsx';
import { OverviewPage } from './overview/overview-page.tsx';
import type { PageProps } from './page-props.ts';
import { ResourcePage } from './resources/resource-page.tsx';
import { ResourcesPage } from './resources/resources-page.tsx';
import { SitesPage } from './sites/sites-page.tsx';
import { TrafficPage } from './traffic/traffic-page.tsx';

const later = () => import('./later-pages.ts');

/** Paths below /console. Pages that few people open first are loaded when they are. */
export const PAGES: readonly (readonly [pattern: string, page: ComponentType<PageProps>])[] = [
  ['/', OverviewPage],
  ['/sites', SitesPage],
  ['/sites/:edge_id', lazyPage(async () => (await later()).SitePage)],
  ['/publish', lazyPage(async () => (await later()).PublishPage)],
  ['/edges', EdgesPage],
  ['/edges/:edge_id', EdgePage],
  ['/edges/:edge_id/routes/:id', RoutePage],
  ['/backends', BackendsPage],
  ['/tunnels', lazyPage(async () => (await later()).TunnelsPage)],
  ['/certificates', lazyPage(async () => (await later()).CertificatesPage)],
  ['/people', lazyPage(async () => (await later()).PeoplePage)],
  ['/people/:id', lazyPage(async () => (await later()).PersonPage)],
  ['/access', lazyPage(async () => (await later()).AccessPage)],
  ['/keys', lazyPage(async () => (await later()).KeysPage)],
  ['/changes', lazyPage(async () => (await later()).ChangesPage)],
  ['/changes/:revision', lazyPage(async () => (await later()).ChangePage)],
  ['/events', lazyPage(async () => (await later()).EventsPage)],
  ['/traffic', TrafficPage],
  ['/traffic/:id', lazyPage(async () => (await later()).RequestPage)],
  ['/explain', lazyPage(async () => (await later()).ExplainPage)],
  ['/settings', lazyPage(async () => (await later()).SettingsPage)],
  ['/sessions', lazyPage(async () => (await later()).SessionsPage)],
  ['/search', lazyPage(async () => (await later()).SearchPage)],
  ['/resources/:tag', ResourcesPage],
  ['/resources/:tag/item', ResourcePage],
];
