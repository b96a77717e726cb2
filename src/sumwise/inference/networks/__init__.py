"""What neural estimators of several families share: tensors and arrays, pooling over bags, resumable optimisers."""
