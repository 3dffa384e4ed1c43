/** Entry of a bundle with Holdfast's and a user's workflows; `withUserWorkflows` replaces the name with their file. */
export * from '../workflows/index';
// @ts-expect-error -- webpack resolves this name to the user's file
export * from 'holdfast-user-workflows';
