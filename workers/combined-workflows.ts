/** Entry of a bundle that holds Holdfast's workflows and a user's; `withUserWorkflows` puts their file in the place of the name. */
export * from '../workflows/index';
// @ts-expect-error -- webpack resolves this name to the user's file
export * from 'holdfast-user-workflows';
