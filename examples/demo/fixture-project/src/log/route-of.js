/** The route behind a path: without its query, and with numeric ids replaced. */
export function routeOf(path) {
  const [pathname] = path.split('?');
  return pathname.replace(/\/\d+(?=\/|$)/g, '/:id');
}
